platform    = "kubernetes"
grace       = "30s"
margin      = "2s"
grace_spent = "0s"

shutdown {
  signals = ["SIGTERM", "SIGINT", "SIGQUIT", "SIGRTMIN+3"]
  repeat  = "ignore"
  delay   = "5s"
  cleanup = "2s"

  drain {
    until  = "idle"   # auto | idle | closed | off
    max    = "10s"
    quiet  = "2s"     # an answered connection counts as idle after this long without a byte
    unsure = "5s"     # one that cannot be told counts as idle after this long
    ports  = [8080]   # default: every TCP port that the processes listen on
  }
}

process "php" {
  command = ["php-fpm", "-F"]
  stop "SIGQUIT" { wait = "1s" }
}

process "web" {
  command = ["nginx", "-g", "daemon off;"]
  after   = ["php"]   # started after php is ready; stopped before it
  main    = true      # exactly one: its exit starts the shutdown, its code is graced's; default: the last process
  env     = { TZ = env("TZ", "UTC") }
  dir     = "/srv"
  user    = "www-data"
  group   = "www-data"
  target  = "process"
  rewrite = { USR2 = "" }
  output  = "inherit" # inherit | prefix

  stop "SIGQUIT" { wait = "8s" } # a rung; repeated blocks are the ladder; SIGKILL always follows
  stop "SIGTERM" { wait = "2s" } # a rung without wait takes its share of what remains

  restart {
    when    = "failure" # never (default) | failure | always
    backoff = "100ms"   # doubles, with jitter, up to max
    max     = "30s"
    limit   = 5         # in `within`; then the shutdown starts
    within  = "1m"
  }

  probe "ready" {
    http    = "http://127.0.0.1:80/ping" # exactly one of http, tcp, exec, grpc, file, notify, listening
    every   = "1s"
    timeout = "500ms"
    rise    = 1
    fall    = 3
  }
  probe "live" {
    tcp   = "127.0.0.1:80" # failing: the process is stopped by its ladder and counts as failed
    every = "10s"
    fall  = 3
  }
  probe "startup" {
    exec  = ["/bin/app-started"]
    every = "1s"
    fall  = 60
  }
}

hook "migrate" {
  at      = "pre_start" # pre_start | post_ready | pre_stop | post_stop, in the file's order
  command = ["./migrate"]
  timeout = "60s"       # required; a failing pre_start ends graced with its code
}

hook "flush" {
  at      = "post_stop"
  command = ["./flush"]
  timeout = "1s"
}

announce "lb" { # tells the outside; its failure never stops or delays a shutdown
  http    = "https://lb.internal/v1/pools/prod/origins/10.0.1.23"
  method  = "PATCH"
  headers = { Authorization = "Bearer ${env("LB_TOKEN")}" }
  body    = jsonencode({ state = "draining" })
  retries = 3 # with backoff and jitter; no attempt starts that cannot end in what is left
}

announce "marker" { file = "/var/run/draining" }  # there while not ready
announce "haproxy" { agent = "127.0.0.1:8991" }   # HAProxy agent-check

http {
  listen  = ":8990" # readiness, liveness, startup, metrics, status; grpc.health.v1 Check by h2c on the same port
  ready   = ["/readyz", "/healthz"]
  live    = ["/livez"]
  startup = ["/startupz"]
}

metrics {
  path     = "/metrics"
  textfile = ""
  push     = ""
}

control { socket = "/run/graced.sock" }
report { path = "/dev/termination-log" }

log {
  format = "json"
  level  = "info"
}

exit { codes = { "143" = 0, "stopped" = 0 } }
