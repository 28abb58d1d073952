process "web" {
  command = ["nginx"]
  output  = "prefix"

  restart {
    when = "failure"
  }

  probe "live" {
    tcp = "127.0.0.1:80"
  }
}

announce "marker" {
  file = "/run/draining"
}

metrics {
  push = "http://pushgateway:9091"
}
