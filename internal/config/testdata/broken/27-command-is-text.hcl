process "web" {
  command = "nginx -g daemon-off"
}
