<?php
// The paths are those of legacy.py.
$ms = (int) ($_GET['ms'] ?? 1000);
$fast = str_repeat('x', 1024);
switch (strtok($_SERVER['REQUEST_URI'], '?')) {
    case '/healthz':
        echo 'ok';
        break;
    case '/fast':
        header('Content-Length: 1024');
        echo $fast;
        break;
    case '/slow':
        usleep($ms * 1000);
        header('Content-Length: 1024');
        echo $fast;
        break;
    case '/stream':
        $n = (int) ($_GET['n'] ?? 10);
        for ($i = 0; $i < $n; $i++) {
            echo $fast;
            flush();
            usleep(intdiv($ms * 1000, $n));
        }
        break;
    case '/echo':
        echo 'len=' . strlen(file_get_contents('php://input'));
        break;
    default:
        http_response_code(404);
}
