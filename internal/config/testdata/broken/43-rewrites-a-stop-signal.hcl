process "web" {
  command = ["nginx"]
  rewrite = { SIGTERM = "SIGQUIT", USR1 = "HUP" }
}
