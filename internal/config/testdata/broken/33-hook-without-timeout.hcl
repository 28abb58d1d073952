hook "flush" {
  at      = "post_stop"
  command = ["./flush"]
}

process "web" {
  command = ["nginx", "-g", "daemon off;"]
}
