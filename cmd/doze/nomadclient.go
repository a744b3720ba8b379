package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

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
		if err := useTokenFile(conf, cfg.NomadTokenFile); err != nil {
			return nil, err
		}
	}
	client, err := nomad.NewClient(conf)
	if err != nil {
		return nil, usagef("cannot use Nomad's address %q: %w", conf.Address, err)
	}
	return client, nil
}

// useTokenFile has every request carry what the file holds at that moment: the token of a
// workload identity is renewed while doze runs.
func useTokenFile(conf *nomad.Config, path string) error {
	if _, err := os.ReadFile(path); err != nil {
		return usagef("cannot read nomad-token-file: %w", err)
	}
	transport := &http.Transport{
		Proxy:           http.ProxyFromEnvironment,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, // ConfigureTLS fills it
	}
	if addr, err := url.Parse(conf.Address); err == nil && addr.Scheme == "unix" {
		socket := addr.Path
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}
		conf.Address = "http://127.0.0.1" // a name for what is dialled above
	}
	conf.HttpClient = &http.Client{Transport: transport}
	if err := nomad.ConfigureTLS(conf.HttpClient, conf.TLSConfig); err != nil {
		return usagef("cannot use the TLS settings for Nomad: %w", err)
	}
	conf.HttpClient.Transport = tokenFile{path: path, next: transport}
	conf.SecretID = ""
	return nil
}

// tokenFile adds the token of a file to requests that carry none of their own.
type tokenFile struct {
	path string
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t tokenFile) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Header.Get("X-Nomad-Token") != "" {
		return t.next.RoundTrip(req)
	}
	token, err := os.ReadFile(t.path)
	if err != nil {
		return nil, fmt.Errorf("cannot read nomad-token-file: %w", err)
	}
	req = req.Clone(req.Context())
	req.Header.Set("X-Nomad-Token", strings.TrimSpace(string(token)))
	return t.next.RoundTrip(req)
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
	return "unix://" + socket
}
