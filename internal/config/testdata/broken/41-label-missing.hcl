process {
  command = ["nginx"]
}
