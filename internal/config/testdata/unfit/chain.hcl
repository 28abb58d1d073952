platform = "kubernetes"
grace    = "20s"
margin   = "2s"

shutdown {
  delay = "5s"
  drain {
    max = "10s"
  }
}

process "php" {
  command = ["php-fpm", "-F"]
  stop "SIGQUIT" { wait = "1s" }
}

process "web" {
  command = ["nginx", "-g", "daemon off;"]
  after   = ["php"]
  stop "SIGQUIT" { wait = "8s" }
  stop "SIGTERM" { wait = "2s" }
}

hook "flush" {
  at      = "post_stop"
  command = ["./flush"]
  timeout = "1s"
}
hook "close" {
  at      = "post_stop"
  command = ["./close"]
  timeout = "1s"
}
