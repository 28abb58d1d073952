process "web" {
  dir = "/srv"
}
