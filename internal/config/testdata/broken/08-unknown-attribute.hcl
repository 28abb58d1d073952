grcae = "30s"

process "web" {
  command = ["nginx", "-g", "daemon off;"]
}
