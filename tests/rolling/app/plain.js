// A node server without any signal handler; the paths are those of legacy.py.
const http = require('http');
const fast = Buffer.alloc(1024, 'x');

http.createServer((req, res) => {
  const url = new URL(req.url, 'http://x');
  const ms = Number(url.searchParams.get('ms') || 1000);
  switch (url.pathname) {
    case '/healthz': res.end('ok'); break;
    case '/fast': res.setHeader('Content-Length', 1024); res.end(fast); break;
    case '/slow': setTimeout(() => { res.setHeader('Content-Length', 1024); res.end(fast); }, ms); break;
    case '/stream': {
      let left = Number(url.searchParams.get('n') || 10);
      const gap = ms / left;
      const step = () => {
        if (left-- === 0) { res.end(); return; }
        res.write(fast);
        setTimeout(step, gap);
      };
      step();
      break;
    }
    case '/echo': {
      let got = 0;
      req.on('data', (d) => { got += d.length; });
      req.on('end', () => { const b = `len=${got}`; res.setHeader('Content-Length', b.length); res.end(b); });
      break;
    }
    default: res.statusCode = 404; res.end('no such path');
  }
}).listen(Number(process.argv[2]), '0.0.0.0', 511);
