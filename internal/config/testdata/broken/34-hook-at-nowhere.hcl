hook "flush" {
  at      = "poststop"
  command = ["./flush"]
  timeout = "1s"
}

process "web" {
  command = ["nginx", "-g", "daemon off;"]
}
