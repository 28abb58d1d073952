margin = "8s"

shutdown {
  cleanup = "2s"
}

process "app" {
  command = ["app"]
}

hook "a" {
  at      = "post_stop"
  command = ["a"]
  timeout = "2s"
}

hook "b" {
  at      = "post_stop"
  command = ["b"]
  timeout = "1s"
}
