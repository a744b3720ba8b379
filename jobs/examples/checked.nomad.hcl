# A group with a service check. The policy names no probe, so Doze asks what the check asks
# (GET /healthz), but after milliseconds instead of every ten seconds.
#
#   nomad job run -var doze=$(command -v doze) checked.nomad.hcl
#   doze serve &
#   curl http://checked.localhost:8080/
#
# The client has to allow raw_exec, as nomad agent -dev does. Elsewhere its configuration
# needs: plugin "raw_exec" { config { enabled = true } }.

variable "doze" {
  description = "Path of the doze program, whose built-in application is run"
  type        = string
  default     = "/usr/local/bin/doze"
}

job "checked" {
  group "web" {
    count = 1 # runs at once; Doze adopts it and puts it to sleep after two minutes

    # Whoever has found the service in the catalogue gets a second to let go of it.
    shutdown_delay = "1s"

    network {
      port "http" {}
      port "metrics" {}
    }

    service {
      name     = "checked"
      provider = "nomad"
      port     = "http"

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
      max     = 2

      policy {
        doze {
          idle_after = "2m"
          port       = "http" # the group has two

          route {
            hosts = ["checked.localhost"]
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
