shutdown {
  cleanup = ""
}

process "web" {
  command = ["nginx", "-g", "daemon off;"]
}
