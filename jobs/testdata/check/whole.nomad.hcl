# Everything that a reader of job files has to put up with, and nothing wrong.
variable "domain" {
  description = "Where it is reached"
  type        = string
  default     = "example.com"
}

variable "sites" {
  type    = list(string)
  default = ["red", "blue"]
}

variable "copies" {
  type    = number
  default = "4"
}

variables {
  minutes = 10
}

locals {
  hosts = [for s in var.sites : "${s}.${local.zone}"]
  zone  = lower(var.domain)
}

job "shop" {
  datacenters = ["*"]
  namespace   = "prod"
  type        = "service"

  meta = { "a.b" = "c" }

  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
  }

  group "plain" {
    task "idle" {
      driver = "raw_exec"
      config { command = "/bin/true" }
    }
  }

  group "disabled" {
    scaling {
      enabled = false
      max     = 1
      policy {
        doze { nonsense = true }
      }
    }
  }

  group "autoscaled" {
    scaling {
      max = 1
      policy {
        cooldown = "1m"
        check "cpu" {
          source = "prometheus"
          query  = "scalar(avg(x{y=\"${NOMAD_JOB_NAME}\"}))"
          strategy "target-value" { target = 70 }
        }
      }
    }
  }

  group "web" {
    count = 2

    network {
      mode = "bridge"
      port "metrics" { to = 9100 }
      dynamic "port" {
        for_each = ["http", "admin"]
        labels   = [port.value]
        content { to = -1 }
      }
    }

    scaling {
      min = 0
      max = var.copies
      policy {
        doze {
          idle_after = "${var.minutes}m"
          port       = format("%s%s", "ht", "tp")
          wake_count = min(2, var.copies)
          route {
            hosts       = concat(local.hosts, ["*.${var.domain}"])
            path_prefix = "/"
          }
          ignore { paths = ["/up"] }
        }
        cooldown = "1m"
      }
    }

    task "app" {
      driver = "docker"

      config {
        image = "shop:${var.domain}"
        ports = ["http"]
      }

      template {
        destination = "local/x"
        data        = <<-EOT
          {{ range nomadService "db" }}${"$"}{not.ours}{{ end }}
        EOT
      }

      service {
        name     = "shop-${NOMAD_ALLOC_INDEX}"
        provider = "nomad"
        port     = "http"
        check {
          type     = "http"
          path     = "/up"
          interval = "10s"
          timeout  = "2s"
          header { X-Probe = ["doze"] }
        }
      }
    }
  }

  dynamic "group" {
    for_each = var.sites
    iterator = site
    labels   = ["site-${site.value}"]
    content {
      network {
        port "http" {}
      }
      scaling {
        min = 0
        max = site.key + 1
        policy {
          doze {
            route { hosts = ["${site.value}.local"] }
          }
        }
      }
    }
  }
}
