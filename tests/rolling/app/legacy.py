"""A threaded HTTP server of the http.server kind: it knows nothing of SIGTERM.

  legacy.py PORT [--ignore-term]

The paths are the contract that every program here keeps:
  GET  /healthz            200 at once
  GET  /fast               200, 1 KiB
  GET  /slow?ms=N          silent for N ms, then 200, 1 KiB
  GET  /stream?ms=N&n=K    K chunks of 1 KiB spread over N ms
  POST /echo               reads the whole body, answers "len=BYTES"
"""
import signal
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

FAST = b"x" * 1024


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        # without it Nagle and delayed ACKs add 40 ms to every small answer
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, *args):
        pass

    def answer(self, body, code=200):
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        url = urlparse(self.path)
        query = {k: int(v[0]) for k, v in parse_qs(url.query).items() if v[0].isdigit()}
        wait = query.get("ms", 1000) / 1000
        if url.path == "/fast":
            self.answer(FAST)
        elif url.path == "/slow":
            time.sleep(wait)
            self.answer(FAST)
        elif url.path == "/stream":
            count = max(1, query.get("n", 10))
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for _ in range(count):
                self.wfile.write(b"400\r\n" + FAST + b"\r\n")
                time.sleep(wait / count)
            self.wfile.write(b"0\r\n\r\n")
        elif url.path == "/healthz":
            self.answer(b"ok")
        else:
            self.answer(b"no such path", 404)

    def do_POST(self):
        got = len(self.rfile.read(int(self.headers.get("Content-Length", "0"))))
        self.answer(b"len=%d" % got)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512  # the library's 5 would lose connections by itself

    def handle_error(self, request, client_address):
        pass  # a balancer that resets its pooled connections is no news


if __name__ == "__main__":
    if "--ignore-term" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Server(("", int(sys.argv[1])), Handler).serve_forever()
