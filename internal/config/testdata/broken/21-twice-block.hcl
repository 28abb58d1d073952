shutdown {
  delay = "5s"
}

shutdown {
  repeat = "ignore"
}

process "web" {
  command = ["nginx", "-g", "daemon off;"]
}
