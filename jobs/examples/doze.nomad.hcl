# Doze itself as a Nomad job. It reaches Nomad through the task's own API socket with the
# task's workload identity, so it needs neither an address nor a token.
#
# Where Nomad's ACLs are on:
#
#   nomad acl policy apply -namespace default -job doze doze doze.policy.hcl
#   nomad job run -var doze=$(command -v doze) doze.nomad.hcl
#   NOMAD_TOKEN=… doze status -address http://ADDRESS:4660
#   curl -H 'Host: hello.localhost' http://ADDRESS:8080/
#
# Whoever uses the API needs a Nomad token that may itself read, or scale, the job in
# question.
#
# Where ACLs are off, Nomad's tokens tell nobody apart. Leave the first command out, and let
# a token of the API's own decide: in env below, put DOZE_API_TOKEN_FILE = "/etc/doze/token"
# in the place of DOZE_API_AUTH. On the node, as the user that runs the agent:
#
#   (umask 077; mkdir -p /etc/doze; openssl rand -hex 16 >/etc/doze/token)
#   DOZE_TOKEN=$(cat /etc/doze/token) doze status -address http://ADDRESS:4660
#
# ADDRESS is the one that Nomad gives the ports: 127.0.0.1 under nomad agent -dev, else the
# node's. The client has to allow raw_exec, as nomad agent -dev does.

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
