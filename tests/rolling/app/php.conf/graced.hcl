process "php" {
  command = ["{php-fpm}", "--nodaemonize", "--allow-to-run-as-root", "--fpm-config", "{run}/php-fpm.conf"]
}

process "web" {
  command = ["nginx", "-p", "{run}", "-e", "{run}/error.log", "-c", "{run}/nginx.conf", "-g", "daemon off;"]
  after   = ["php"]
}
