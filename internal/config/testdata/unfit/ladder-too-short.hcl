process "app" {
  command = ["app"]
  stop "SIGQUIT" { wait = "300ms" }
  stop "SIGTERM" { wait = "200ms" }
}
