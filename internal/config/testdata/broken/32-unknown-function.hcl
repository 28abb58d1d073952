grace = getenv("GRACE")

process "web" {
  command = ["nginx", "-g", "daemon off;"]
}
