# All that graced can be told, block by block. A process and its command are
# enough for a start; what is left out takes its default, and most of what is
# said here is one. docs/configuration.md has each setting by itself.
#
#   graced check --config graced.hcl     is it right, and does it fit?
#   graced plan  --config graced.hcl     what happens when on a stop
#   graced       --config graced.hcl     run it
#
# A duration is text with its unit: "500ms", "10s", "1m30s". Blocks that are
# commented out are not in this build yet.

# The platform sets what nobody says: kubernetes a grace of 30s, a delay of 5s
# and where the report goes. Left out, it is found by the environment.
platform = "kubernetes"

# From the platform's stop signal to its SIGKILL. The platform has this number
# too, here as terminationGracePeriodSeconds, and a container cannot ask for it:
# graced plan --against deployment.yaml checks that the two agree.
grace = "60s"

# Of it, what graced never uses, so that it is gone before it would be killed,
# and what is used before the signal comes, by a preStop hook of the pod.
margin      = "3s"
grace_spent = "0s"

# The budget is what remains: 57s. Everything below has to fit into it, and
# graced does not start if it does not:
#   delay 5s + drain 15s + api 22s + cache 5s + cleanup 7s = 54s

# How a shutdown goes, before the processes get their signals.
shutdown {
  # What starts it. These are never passed on; every other signal is.
  signals = ["SIGTERM", "SIGINT", "SIGQUIT", "SIGRTMIN+3"]

  # A second stop signal changes nothing; "escalate" goes to the next step.
  repeat = "ignore"

  # Readiness answers 503 at once. Then load balancers get this long to look
  # away; "auto" ends when everyone who asks for readiness was told.
  delay = "5s"

  # The end of the budget, kept for the post_stop hooks, the report and the last
  # metrics. Left out, it is what the hooks need and 0.5s.
  cleanup = "7s"

  # Then requests in flight are answered, while the programs run on as if
  # nothing was.
  drain {
    until  = "idle" # auto, idle; closed for WebSockets, HTTP/2 and gRPC; off
    max    = "15s"  # at the latest
    quiet  = "2s"   # an answered connection counts as idle after so long without a byte
    unsure = "5s"   # one of which it cannot be told, after so long
    ports  = [8080] # left out: every port that the processes listen on
  }
}

# Each program that graced runs. One is main: its end starts the shutdown, and
# its exit code is graced's. Without a word it is the last one.
process "cache" {
  command = ["./cache", "--port", "11211"]

  # No stop block: its own stop signal, as `graced plan` says, then SIGKILL. This
  # is a ladder of one rung; the time after which SIGKILL comes is given.
  stop "SIGTERM" { wait = "5s" }

  # How it becomes ready: it listens on a TCP port (listening, the default), or
  # it was started.
  probe "ready" {
    listening = true
  }

  # Not in this build yet: to start it again when it ends by itself. Now that is
  # a warning in the log, and the others go on.
  #restart {
  #  when    = "failure" # never, failure, always
  #  backoff = "100ms"   # doubles, up to max
  #  max     = "30s"
  #  limit   = 5         # so many times within that; then the shutdown starts
  #  within  = "1m"
  #}
}

process "api" {
  # Words, not a line for a shell: a shell between would swallow the signals.
  command = ["./api", "--port", "8080"]

  after = ["cache"] # started once the cache is ready, stopped before it
  main  = true

  # On top of graced's own environment. env reads a variable; the second word
  # serves where it is not set. There are file, jsonencode, jsondecode, format,
  # join, lower, upper, coalesce, min and max besides.
  env = {
    TZ    = env("TZ", "UTC")
    CACHE = format("127.0.0.1:%d", 11211)
  }
  dir = "/srv"

  # Who it runs as, a name or a number. graced stays what it is.
  user  = "65532"
  group = "65532"

  # Who gets the signals: the process, its group, or all that it has started.
  target = "process"

  # Signals on their way to it: SIGUSR1 arrives as SIGHUP, SIGUSR2 does not.
  rewrite = { USR1 = "HUP", USR2 = "" }

  # Where its output goes; "prefix", each line behind the process's name, is not
  # in this build yet.
  output = "inherit"

  # Its ladder of stop signals, each with its wait. SIGKILL follows always. A rung
  # without a wait takes its share of the time that is left.
  stop "SIGTERM" { wait = "20s" }
  stop "SIGQUIT" { wait = "2s" }

  # Not in this build yet: probes that ask the process, by exactly one of http,
  # tcp, exec, grpc, file and notify. Left out, it is ready once it listens.
  #probe "ready" {
  #  http    = "http://127.0.0.1:8080/ping"
  #  every   = "1s"
  #  timeout = "500ms"
  #  rise    = 1 # good after so many good answers
  #  fall    = 3 # bad after so many bad ones
  #}
  #probe "live" { # a bad one: the process is stopped by its ladder
  #  tcp   = "127.0.0.1:8080"
  #  every = "10s"
  #}
  #probe "startup" { # until it was good once, no other probe counts
  #  exec  = ["./api", "started"]
  #  every = "1s"
  #  fall  = 60
  #}
}

# Commands at four points, one after the other in the order of the file. A
# pre_start that fails ends graced with its code, and nothing was started.
hook "migrate" {
  at      = "pre_start"
  command = ["./migrate"]
  timeout = "60s"
}

hook "warm" {
  at      = "post_ready"
  command = ["./warm"]
  timeout = "30s"
}

# Beside the delay and the drain, which wait for it.
hook "deregister" {
  at      = "pre_stop"
  command = ["./deregister"]
  timeout = "3s"
}

# When all processes are gone, a chain: flush, then release, then close. One that
# fails or overruns is logged, and the next one runs all the same.
hook "flush" {
  at      = "post_stop"
  command = ["./queue", "flush"]
  timeout = "4s"
}

hook "release" {
  at      = "post_stop"
  command = ["./lease", "release"]
  timeout = "1s"
}

hook "close" {
  at      = "post_stop"
  command = ["./journal", "close"]
  timeout = "1s"
}

# Not in this build yet: tells the outside that the shutdown has started. Its
# failure never stops or delays one. Exactly one of http, file and agent.
#announce "lb" {
#  http    = "https://lb.internal/v1/pools/prod/origins/10.0.1.23"
#  method  = "PATCH"
#  headers = { Authorization = "Bearer ${env("LB_TOKEN", "")}" }
#  body    = jsonencode({ state = "draining" })
#  retries = 3
#}
#announce "marker" { # a file that is there while not ready
#  file = "/var/run/draining"
#}
#announce "haproxy" { # HAProxy's agent-check
#  agent = "127.0.0.1:8991"
#}

# What graced serves: readiness, liveness, the startup probe's answer. "off"
# serves nothing. An address that is given and taken is an error.
http {
  listen  = ":8990"
  ready   = ["/readyz", "/healthz"]
  live    = ["/livez"]
  startup = ["/startupz"]
}

# Metrics on the same port; "" turns them off. textfile gets the last values at
# the exit, for node_exporter. A Pushgateway (push) is not in this build yet.
metrics {
  path     = "/metrics"
  textfile = ""
  push     = ""
}

# Where graced drain, resume, stop and status find it: auto or off. A path is not
# in this build yet.
control {
  socket = "auto"
}

# How the stop went, as one JSON object.
report {
  path = "/dev/termination-log"
}

# graced's own lines on stderr. At "info" it says nothing until a shutdown.
log {
  format = "json" # text
  level  = "info" # debug, warn, error
}

# Exit codes for platforms that take 143 for a failure: an exact one, or
# "stopped", which is 128+N where the ladder sent N.
exit {
  codes = { "143" = 0, "stopped" = 0 }
}
