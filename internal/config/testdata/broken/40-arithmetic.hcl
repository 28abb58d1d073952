shutdown {
  drain {
    ports = [8000 + 80]
  }
}

process "web" {
  command = ["nginx", "-g", "daemon off;"]
}
