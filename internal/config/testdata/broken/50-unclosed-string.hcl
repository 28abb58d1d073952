process "web" {
  command = ["nginx]
}
