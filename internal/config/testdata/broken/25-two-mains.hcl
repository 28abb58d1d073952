process "web" {
  command = ["nginx"]
  main    = true
}

process "php" {
  command = ["php-fpm"]
  main    = true
}
