# Nothing here is Doze's business, and nothing is said about it.
variable "unset" {}

job "shop" {
  type = "batch"

  group "disabled" {
    scaling {
      enabled = false
      max     = var.unset
      policy {
        doze {
          nonsense   = true
          idle_after = file("unread.txt")
        }
      }
    }
  }

  group "autoscaled" {
    scaling {
      max = var.unset
      policy {
        check "cpu" {
          query = var.unset
        }
      }
    }
  }

  dynamic "group" {
    for_each = var.unset
    content {}
  }
}
