grace = "30s"
grace = "20s"

process "web" {
  command = ["nginx", "-g", "daemon off;"]
}
