# A Node.js server.
#
# Node has no graceful stop of its own: by default SIGTERM ends it at once, and as
# a container's first process it ignores it. Under graced it is not the first one,
# and it gets its signal when no request is in flight any more.
#
# node itself, not npm start: npm does not pass signals on.

grace = "30s"

process "web" {
  command = ["node", "server.js"]
  env     = { NODE_ENV = env("NODE_ENV", "production") }

  # SIGUSR1 would open the debugger's port.
  rewrite = { USR1 = "" }
}

exit {
  codes = { "stopped" = 0 }
}
