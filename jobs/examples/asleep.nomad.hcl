# A group that is born asleep and wakes with two allocations. count is left out and min is 0,
# so Nomad registers it at count 0; there is no earlier count to wake with, and wake_count
# says how many there are to be.
#
# Running this file again while the group is awake takes it to 0 as well, and the next request
# wakes it. nomad job run -preserve-counts keeps it as it is.
#
#   nomad job run -var doze=$(command -v doze) asleep.nomad.hcl
#   doze serve &
#   curl http://asleep.localhost:8080/
#
# The client has to allow raw_exec, as nomad agent -dev does. Elsewhere its configuration
# needs: plugin "raw_exec" { config { enabled = true } }.

variable "doze" {
  description = "Path of the doze program, whose built-in application is run"
  type        = string
  default     = "/usr/local/bin/doze"
}

job "asleep" {
  group "web" {
    network {
      port "http" {}
    }

    scaling {
      enabled = true
      min     = 0
      max     = 2

      policy {
        doze {
          idle_after = "1m"
          wake_count = 2

          route {
            hosts = ["asleep.localhost"]
          }
        }
      }
    }

    task "app" {
      driver = "raw_exec"

      config {
        command = var.doze
        args    = ["app", "hello"]
      }

      resources {
        cpu    = 50
        memory = 64
      }
    }
  }
}
