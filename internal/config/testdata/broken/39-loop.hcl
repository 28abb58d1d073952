process "web" {
  command = [for x in ["a", "b"] : upper(x)]
}
