# An application that echoes WebSockets and bodies and streams events. A connection counts as
# a request in flight until both sides have closed it, however silent it is.
#
#   nomad job run -var doze=$(command -v doze) echo.nomad.hcl
#   doze serve &
#   curl -N 'http://echo.localhost:8080/stream?n=30&every=1s'
#   head -c 100M /dev/zero | curl -T - http://echo.localhost:8080/echo | wc -c
#
# With idle_after = "10s" the stream outlives it by far.
#
# The client has to allow raw_exec, as nomad agent -dev does. Elsewhere its configuration
# needs: plugin "raw_exec" { config { enabled = true } }.

variable "doze" {
  description = "Path of the doze program, whose built-in application is run"
  type        = string
  default     = "/usr/local/bin/doze"
}

job "echo" {
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
          idle_after = "10s"
          waiting    = "hold" # no waiting page: the clients are programs

          route {
            hosts = ["echo.localhost", "*.echo.localhost"]
          }
        }
      }
    }

    task "app" {
      driver = "raw_exec"

      config {
        command = var.doze
        args    = ["app", "echo"]
      }

      resources {
        cpu    = 50
        memory = 64
      }
    }
  }
}
