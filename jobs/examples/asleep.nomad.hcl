# A group that is born asleep: count is left out and min is 0, so Nomad registers it at count
# 0 and nothing runs until the first request. (Running this file again while the group is
# awake takes it to 0 as well; the next request wakes it. Use nomad job run -preserve-counts
# to keep it as it is.)
#
#   nomad job run -var doze=$(command -v doze) asleep.nomad.hcl
#   doze serve &
#   curl http://asleep.localhost:8080/

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
          wake_count = 2 # the first wake has no earlier count to go back to

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
