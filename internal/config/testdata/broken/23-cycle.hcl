process "web" {
  command = ["web"]
  after   = ["php"]
}

process "php" {
  command = ["php"]
  after   = ["cache"]
}

process "cache" {
  command = ["cache"]
  after   = ["web"]
}

