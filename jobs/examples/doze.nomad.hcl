# Doze itself as a Nomad job. It reaches Nomad through the task's own API socket with the
# task's workload identity, so it needs neither an address nor a token.
#
#   nomad acl policy apply -namespace default -job doze doze doze.policy.hcl   # ACLs on
#   nomad job run -var doze=$(command -v doze) doze.nomad.hcl
#   curl http://hello.localhost:8080/
#   doze status -address http://127.0.0.1:4660
#
# Without ACLs leave the first command out. Gate and API listen on the address that Nomad
# gives the ports: loopback under nomad agent -dev, else the node's. Whoever uses the API
# needs a Nomad token that may itself read, or scale, the job in question.

variable "doze" {
  description = "Path of the doze program on the node"
  type        = string
  default     = "/usr/local/bin/doze"
}

job "doze" {
  group "doze" {
    count = 1 # one a region; what it sleeps and wakes, it recovers from Nomad

    # Whoever has found the service in the catalogue gets a second to let go of it.
    shutdown_delay = "1s"

    network {
      port "gate" {
        static = 8080
      }
      port "api" {
        static = 4660
      }
    }

    service {
      name     = "doze"
      provider = "nomad"
      port     = "api"

      check {
        type     = "http"
        path     = "/readyz"
        interval = "5s"
        timeout  = "2s"
      }
    }

    # Started again for ever: while it is away, sleeping groups stay asleep.
    restart {
      attempts = 3
      interval = "1m"
      delay    = "2s"
      mode     = "delay"
    }

    task "serve" {
      driver = "raw_exec"

      # Longer than shutdown_timeout, so that what is in flight can finish. Nomad's clients
      # allow 30 s at most unless max_kill_timeout says otherwise.
      kill_timeout = "25s"

      config {
        command = var.doze
        args    = ["serve"]
      }

      # NOMAD_TOKEN, and with it the right to use ${NOMAD_SECRETS_DIR}/api.sock.
      identity {
        env = true
      }

      env {
        DOZE_GATE_ADDRESS     = "${NOMAD_ADDR_gate}"
        DOZE_API_ADDRESS      = "${NOMAD_ADDR_api}"
        DOZE_API_AUTH         = "nomad"
        DOZE_SHUTDOWN_TIMEOUT = "20s"
        DOZE_LOG_FORMAT       = "json"
      }

      resources {
        cpu    = 500
        memory = 128
      }
    }
  }
}
