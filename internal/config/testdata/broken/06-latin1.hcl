# café
grace = "30s"
