job "shop" {
  type = "batch"
  periodic {
    crons = ["@daily"]
  }

  group "web" {
    network {
      port "http" {}
      port "admin" {}
    }

    scaling {
      enabled = true
      min     = 1
      max     = 3
      policy {
        doze {
          idle_afer    = "5m"
          wake_count   = 9
          min_awake    = 30
          wake_timeout = "-1s"
          max_held     = "4"
          waiting      = "hld"
          drain_delay  = "1d"
          port         = "htpp"
          route {
            hosts = ["HTTP://a.b/", "x:80",
              "a.*.b",
              "${attr.unique.hostname}.y",
            ]
            path_prefix = "api"
          }
          route {
            host = ["c"]
          }
          probe "htp" {
            path = "/x"
          }
          probe "tcp" {
            path = "/x"
          }
          ignore { paths = "/h" }
          dynamic "route" {
            for_each = ["a"]
            content { hosts = [route.value] }
          }
        }
      }
    }
  }

  group "typo" {
    scaling {
      max = 1
      policy {
        dozed {}
      }
    }
  }
}
