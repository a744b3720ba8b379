# An application that listens at once but answers 503 for its first two seconds. Doze lets
# no request pass before the probe says that it is ready.
#
#   nomad job run -var doze=$(command -v doze) slow.nomad.hcl
#   doze serve &
#   time curl http://slow.localhost:8080/
#
# curl waits the two seconds. A browser is shown a waiting page after 1.5 s.
#
# The client has to allow raw_exec, as nomad agent -dev does. Elsewhere its configuration
# needs: plugin "raw_exec" { config { enabled = true } }.

variable "doze" {
  description = "Path of the doze program, whose built-in application is run"
  type        = string
  default     = "/usr/local/bin/doze"
}

job "slow" {
  group "web" {
    network {
      port "http" {}
    }

    scaling {
      enabled = true
      min     = 0
      max     = 1

      policy {
        doze {
          idle_after   = "1m"
          wake_timeout = "30s"

          route {
            hosts = ["slow.localhost"]
          }

          probe "http" {
            path = "/healthz"
          }

          # The uptime monitor neither wakes the group nor keeps it awake: it gets 200
          # from Doze while the group sleeps.
          ignore {
            paths       = ["/healthz"]
            user_agents = ["UptimeRobot"]
          }
        }
      }
    }

    task "app" {
      driver = "raw_exec"

      config {
        command = var.doze
        args    = ["app", "slow"]
      }

      resources {
        cpu    = 50
        memory = 64
      }
    }
  }
}
