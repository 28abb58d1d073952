process "web" {
  command = ["nginx"]
  user    = "www-dta"
}
