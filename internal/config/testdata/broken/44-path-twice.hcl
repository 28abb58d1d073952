http {
  ready = ["/health"]
  live  = ["/health"]
}

process "web" {
  command = ["nginx", "-g", "daemon off;"]
}
