# PostgreSQL by Docker's official image: docker run --stop-timeout 120 …
#
# SIGINT is its fast shutdown: sessions end, and all is written. SIGTERM would wait
# until every session ends by itself. Should the last checkpoint take too long,
# SIGQUIT is better than SIGKILL: it leaves at once, and recovers at the next start.
#
# Its clients keep their connections for days and do not obey readiness, so there
# is no delay and no drain.

platform = "docker"
grace    = "120s"

shutdown {
  delay = "0s"

  drain {
    until = "off"
  }
}

process "db" {
  command = ["docker-entrypoint.sh", "postgres"]

  stop "SIGINT" { wait = "100s" }
  stop "SIGQUIT" { wait = "10s" }
}
