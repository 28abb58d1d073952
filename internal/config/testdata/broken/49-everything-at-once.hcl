platform = "kubernets"
grace    = 30
margin   = "0s"

shutdown {
  delay   = "5"
  repeat  = "twice"
  signals = ["SIGTERM", "SIGFOO"]
}

process "web" {
  comand = ["nginx"]
  target = "grp"

  stop "QUIT" { wait = 8 }
}

hook "flush" {
  at = "later"
}

exit {
  codes = { "143" = 0, "300" = 1 }
}
