process "web" {
  command = ["nginx", "-g", "daemon off;"]
}

process "php" {
  command = ["php-fpm"]
  after   = ["wbe"]
}
