process "my web" {
  command = ["nginx"]

  probe "readiness" {
    listening = true
  }
}
