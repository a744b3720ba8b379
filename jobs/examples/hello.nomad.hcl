# The smallest job that sleeps: an application that boots at once.
#
#   nomad job run -var doze=$(command -v doze) hello.nomad.hcl
#   doze serve &
#   curl http://hello.localhost:8080/
#
# count is left out and min is 0, so the group is born asleep: nothing runs before the first
# request. It is put to sleep again after a minute without one.
#
# The client has to allow raw_exec, as nomad agent -dev does. Elsewhere its configuration
# needs: plugin "raw_exec" { config { enabled = true } }.

variable "doze" {
  description = "Path of the doze program, whose built-in application is run"
  type        = string
  default     = "/usr/local/bin/doze"
}

job "hello" {
  group "web" {
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
            hosts = ["hello.localhost"]
          }
        }
      }
    }

    # No update block: Nomad's own default works. A wake then begins a deployment, and Nomad
    # does not scale a job during one, so the group cannot fall asleep again within the first
    # twelve seconds or so. multi.nomad.hcl shows when to write one.

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
