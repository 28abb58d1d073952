# A queue worker (Sidekiq): it has no port, and has to stop taking jobs at once.
#
# So there is nothing to wait for before its signal: the job that it has gets all
# of the budget. Its own time-out (-t) is 25s, which has to be less than what the
# plan gives it: 26.5s of a grace of 30s.
#
# A worker has nothing that listens: it is ready once it was started.

grace = "30s"

shutdown {
  delay = "0s"

  drain {
    until = "off"
  }
}

process "worker" {
  command = ["bundle", "exec", "sidekiq", "-t", "25"]
  dir     = "/app"

  probe "ready" {
    started = true
  }
}

exit {
  codes = { "stopped" = 0 }
}
