grace = env("GRACE")

process "web" {
  command = ["nginx", "-g", "daemon off;"]
}
