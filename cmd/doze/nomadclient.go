package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	nomad "github.com/hashicorp/nomad/api"
)

// newNomadClient returns a client for the Nomad that the flags, else the environment
// name. Inside a Nomad task without NOMAD_ADDR it is the task's own API socket.
func newNomadClient(cfg *serveConfig, term terminal) (*nomad.Client, error) {
	conf := nomad.DefaultConfig() // reads NOMAD_ADDR, NOMAD_TOKEN, NOMAD_CACERT, …
	if socket := taskSocket(term); socket != "" {
		conf.Address = socket
	}
	if cfg.NomadAddress != "" {
		conf.Address = cfg.NomadAddress
	}
	if cfg.NomadTokenFile != "" {
		token, err := os.ReadFile(cfg.NomadTokenFile)
		if err != nil {
			return nil, usagef("cannot read nomad-token-file: %w", err)
		}
		conf.SecretID = strings.TrimSpace(string(token))
	}
	if !strings.HasPrefix(conf.Address, "unix:") {
		conf.HttpClient = keepingConnections()
		if err := nomad.ConfigureTLS(conf.HttpClient, conf.TLSConfig); err != nil {
			return nil, usagef("cannot use Nomad's TLS settings: %w", err)
		}
	}
	client, err := nomad.NewClient(conf)
	if err != nil {
		return nil, usagef("cannot use Nomad's address %q: %w", conf.Address, err)
	}
	return client, nil
}

// keepingConnections is what Nomad's own client uses, HTTP/1 alone, but for the connections
// it keeps: a listing asks on eight at once, a storm of wakes on more.
func keepingConnections() *http.Client {
	dialer := &net.Dialer{Timeout: 30 * time.Second}
	return &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 32,
		IdleConnTimeout:     30 * time.Second,
	}}
}

// taskSocket is the address of the API socket that Nomad gives every task (Nomad 1.5 and
// later), where this process is a task and NOMAD_ADDR names nothing else.
func taskSocket(term terminal) string {
	if addr, ok := term.env("NOMAD_ADDR"); ok && addr != "" {
		return ""
	}
	if addr, ok := term.env("NOMAD_UNIX_ADDR"); ok && addr != "" {
		return addr
	}
	secrets, ok := term.env("NOMAD_SECRETS_DIR")
	if !ok {
		return ""
	}
	socket := filepath.Join(secrets, "api.sock")
	if _, err := os.Stat(socket); err != nil {
		return ""
	}
	return fmt.Sprintf("unix://%s", socket)
}
