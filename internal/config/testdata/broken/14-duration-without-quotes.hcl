grace  = 30s
margin = 2s

process "web" {
  command = ["nginx", "-g", "daemon off;"]
}
