shutdown = { delay = "5s" }

process "web" {
  command = ["nginx", "-g", "daemon off;"]
}
