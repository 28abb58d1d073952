process "web" {
  command = ["nginx"]

  probe "ready" {
    listening = true
    tcp       = "127.0.0.1:80"
  }
}
