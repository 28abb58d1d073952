grace = "30s"

process "web" {
  command = ["nginx", "-g"
