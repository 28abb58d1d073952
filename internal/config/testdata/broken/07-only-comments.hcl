# grace = "30s"
