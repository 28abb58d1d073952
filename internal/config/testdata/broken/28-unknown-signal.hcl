process "web" {
  command = ["nginx"]

  stop "SIGTREM" { wait = "5s" }
  stop "SIGKILL" {}
}
