# A Spring Boot service on Kubernetes.
#
# Its port closes as soon as it gets SIGTERM, so the drain comes before. Then each
# of its own phases has up to 30s (spring.lifecycle.timeout-per-shutdown-phase),
# which is all that Kubernetes gives by default: the grace is more than the sum.
# In the pod: terminationGracePeriodSeconds: 60.
#
# SIGQUIT is not a stop signal for java: it is passed on and prints a thread dump.
# A JVM that was stopped by SIGTERM exits with 143, which is no failure.

platform = "kubernetes"
grace    = "60s"

shutdown {
  delay = "5s"

  drain {
    max = "10s"
  }
}

process "api" {
  command = ["java", "-XX:MaxRAMPercentage=75", "-jar", "/app.jar"]

  stop "SIGTERM" { wait = "35s" }
}

exit {
  codes = { "143" = 0 }
}
