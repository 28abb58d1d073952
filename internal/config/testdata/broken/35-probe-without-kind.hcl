process "web" {
  command = ["nginx"]

  probe "ready" {
    every = "1s"
  }
}
