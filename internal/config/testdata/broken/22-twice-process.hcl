process "web" {
  command = ["nginx", "-g", "daemon off;"]
}

process "web" {
  command = ["nginx", "-g", "daemon off;"]
}
