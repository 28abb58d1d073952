# nginx and php-fpm in one container, without a shell or a supervisor between.
#
# nginx goes first: while it finishes its requests, php-fpm has to be there.
# Both finish what is in flight on SIGQUIT; SIGTERM would drop it. graced knows
# that of both, so that nginx needs no stop block here, and needs no drain.
#
# In php-fpm.conf: process_control_timeout = 2s. Its default is not to wait.
# The FastCGI socket needs no port: php-fpm is ready once it was started.

grace = "30s"

process "php" {
  command = ["php-fpm", "-F"]

  probe "ready" {
    started = true
  }

  stop "SIGQUIT" { wait = "3s" }
}

process "web" {
  command = ["nginx", "-g", "daemon off;"]
  after   = ["php"]
  main    = true
}
