# Two groups of one job, asleep and awake each on its own, behind one host name.
#
#   nomad job run -var doze=$(command -v doze) multi.nomad.hcl
#   doze serve &
#   curl http://multi.localhost:8080/
#   curl http://multi.localhost:8080/api/
#
# The client has to allow raw_exec, as nomad agent -dev does. Elsewhere its configuration
# needs: plugin "raw_exec" { config { enabled = true } }.

variable "doze" {
  description = "Path of the doze program, whose built-in application is run"
  type        = string
  default     = "/usr/local/bin/doze"
}

job "multi" {
  # Nomad does not scale a job while one of its deployments is active, and with the default
  # update block every wake begins one, of some twelve seconds. In a job of several groups
  # one group's wake would thus hold up the other's. max_parallel = 0 means: no deployments.
  # The price is that an update of the job replaces all of a group's allocations at once.
  update {
    max_parallel = 0
  }

  group "site" {
    network {
      port "http" {}
    }

    scaling {
      enabled = true
      min     = 0
      max     = 3

      policy {
        doze {
          idle_after = "1m"

          route {
            hosts = ["multi.localhost"]
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

  group "api" {
    network {
      port "http" {}
    }

    scaling {
      enabled = true
      min     = 0
      max     = 3

      policy {
        doze {
          idle_after = "30s"
          waiting    = "hold"

          route {
            hosts       = ["multi.localhost"]
            path_prefix = "/api"
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
