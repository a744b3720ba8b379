# A task that sleeps in place. Under the doze driver it is frozen in memory after half a minute
# without a connection and parked after ten minutes (its process ends; allocation, port and
# files stay); a connection to its port wakes it, in a millisecond or in one start. After six
# hours the group's policy takes the count to 0 as well.
#
# The agent has to have the driver: see docs/driver.md.
#
#   nomad job run -var doze=$(command -v doze) driver.nomad.hcl
#   doze serve &
#   curl http://driver.localhost:8080/
#   nomad alloc signal -s SIGSTOP <alloc>   # freeze now; SIGTSTP parks, SIGCONT wakes

variable "doze" {
  description = "Path of the doze program, whose built-in application is run"
  type        = string
  default     = "/usr/local/bin/doze"
}

job "driver" {
  group "web" {
    count = 1

    # Whoever has found the service in the catalogue gets a second to let go of it.
    shutdown_delay = "1s"

    network {
      port "http" {}
    }

    # Asked every few seconds, awake or asleep: /healthz is shielded below, so that this check
    # and the gate's probe, which is made from it, wake nobody.
    service {
      name     = "driver"
      port     = "http"
      provider = "nomad"

      check {
        type     = "http"
        path     = "/healthz"
        interval = "10s"
        timeout  = "2s"
      }
    }

    scaling {
      enabled = true
      min     = 0
      max     = 1

      policy {
        doze {
          idle_after = "6h"

          route {
            hosts = ["driver.localhost"]
          }
        }
      }
    }

    task "app" {
      driver = "doze"

      # No log collector of Nomad's runs beside a task that may sleep for weeks: its shepherd
      # writes the same files, see logs below. Else leave both out.
      logs {
        disabled = true
      }

      config {
        command = var.doze
        args    = ["app", "hello"] # it listens at NOMAD_ADDR_http: here its private port

        listen       = "http"
        freeze_after = "30s"
        park_after   = "10m"
        shield       = ["/healthz"]

        probe "http" {
          path = "/healthz"
        }

        logs {
          max_files     = 10
          max_file_size = 10 # MB
        }
      }

      resources {
        cpu    = 50
        memory = 64
      }
    }
  }
}
