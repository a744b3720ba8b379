variable "host" {
  type = string
}

variable "groups" {
  type = list(string)
}

locals {
  full = "${var.host}.example.com"
}

job "shop" {
  datacenters = [var.host]

  group "web" {
    network {
      port "http" {}
    }
    scaling {
      min = 0
      max = var.most
      policy {
        doze {
          idle_after = file("idle.txt")
          waiting    = var.nothing
          route { hosts = ["ok.example.com", var.host, local.full] }
        }
      }
    }
  }

  group "fine" {
    network {
      port "http" {}
    }
    scaling {
      min = 0
      max = 1
      policy {
        doze {
          route { hosts = ["fine.example.com"] }
        }
      }
    }
  }

  group "ports" {
    network {
      dynamic "port" {
        for_each = var.groups
        labels   = [port.value]
        content {}
      }
    }
    scaling {
      min = 0
      max = 1
      policy {
        doze {
          port = "http"
        }
      }
    }
  }

  dynamic "group" {
    for_each = var.groups
    labels   = [group.value]
    content {
      scaling {
        max = 1
      }
    }
  }
}
