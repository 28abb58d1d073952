grace = "9999999999h"

process "web" {
  command = ["nginx", "-g", "daemon off;"]
}
