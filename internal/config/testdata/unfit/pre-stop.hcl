process "app" {
  command = ["app"]
  stop "SIGTERM" { wait = "4s" }
}

hook "deregister" {
  at      = "pre_stop"
  command = ["deregister"]
  timeout = "6s"
}

hook "wait" {
  at      = "pre_stop"
  command = ["sleep", "4"]
  timeout = "5s"
}

hook "flush" {
  at      = "post_stop"
  command = ["flush"]
  timeout = "1s"
}
