# Nothing but the grace can be changed: all is at its least.
grace = "3s"

process "db" {
  command = ["db"]
}

process "cache" {
  command = ["cache"]
  after   = ["db"]
}

process "web" {
  command = ["web"]
  after   = ["cache"]
}
