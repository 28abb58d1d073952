shutdown {
  drain {
    ports = [8080, 80800]
  }
}

process "web" {
  command = ["nginx", "-g", "daemon off;"]
}
