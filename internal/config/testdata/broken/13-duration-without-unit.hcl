grace = 30

process "web" {
  command = ["nginx", "-g", "daemon off;"]
}
