package main

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
)

// serveConfig is every setting of `doze serve`; its field comments are the flags' texts.
type serveConfig struct {
	GateAddress string
	Gate        string
	MaxHeld     int
	MaxWakes    int

	APIAddress   string
	APIAuth      string
	APITokenFile string
	APIHosts     string

	NomadAddress   string
	NomadTokenFile string
	Namespaces     string
	Reconcile      time.Duration

	DrainDelay      time.Duration
	ShutdownTimeout time.Duration
	ReportChecks    bool
	LogLevel        string
	LogFormat       string
}

func (c *serveConfig) declare(s *settings) {
	f := s.flags
	f.StringVar(&c.GateAddress, "gate-address", "127.0.0.1:8080",
		"`address` the gate listens at: requests for the groups come in here")
	f.StringVar(&c.Gate, "gate", "on",
		"`on|off`: off admits to any target that exists, ready or not (kill switch)")
	f.IntVar(&c.MaxHeld, "max-held", 10240, "`requests` held at once, over all groups")
	f.IntVar(&c.MaxWakes, "max-wakes", 32, "`groups` being woken at once; more queue")
	f.StringVar(&c.APIAddress, "api-address", "127.0.0.1:4660",
		"`address` the control API listens at; not loopback needs api-auth")
	f.StringVar(&c.APIAuth, "api-auth", "",
		"`none|token|nomad`: who may use the API: anyone, holders of the token in "+
			"api-token-file, or whoever Nomad lets read or scale the job; default none on "+
			"loopback, token where api-token-file is given")
	f.StringVar(&c.APITokenFile, "api-token-file", "",
		"`path` of a file with the API's bearer token; read anew when it changes")
	f.StringVar(&c.APIHosts, "api-hosts", "",
		"comma-separated `hosts` by which the API may be called, beside its address")
	f.StringVar(&c.NomadAddress, "nomad-address", "",
		"`URL` of Nomad, also unix://; default NOMAD_ADDR, else the task's api.sock, else "+
			"http://127.0.0.1:4646")
	f.StringVar(&c.NomadTokenFile, "nomad-token-file", "",
		"`path` of a file with Nomad's token, read anew for each request; default NOMAD_TOKEN")
	f.StringVar(&c.Namespaces, "namespaces", "",
		"comma-separated `namespaces` to look after; default every readable one")
	f.DurationVar(&c.Reconcile, "reconcile", 5*time.Minute,
		"`interval` at which everything is listed again, beside the event stream")
	f.DurationVar(&c.DrainDelay, "drain-delay", 0,
		"`time` to go on serving after readiness says unavailable, at shutdown")
	f.DurationVar(&c.ShutdownTimeout, "shutdown-timeout", 30*time.Second,
		"`time` a shutdown may take in all; must be longer than drain-delay")
	f.BoolVar(&c.ReportChecks, "report-checks", false,
		"name the checks in the answer of /readyz")
	c.declareLog(s)
}

func (c *serveConfig) declareLog(s *settings) {
	s.flags.StringVar(&c.LogLevel, "log-level", "info", "`trace|debug|info|warn|error|off`")
	s.flags.StringVar(&c.LogFormat, "log-format", "text", "`text|json`")
}

// validate reports everything that is wrong, joined.
func (c *serveConfig) validate() error {
	problems := []error{
		checkAddress("gate-address", c.GateAddress),
		checkAddress("api-address", c.APIAddress),
		oneOf("gate", c.Gate, "on", "off"),
		oneOf("api-auth", c.APIAuth, "", "none", "token", "nomad"),
		atLeastOne("max-held", c.MaxHeld),
		atLeastOne("max-wakes", c.MaxWakes),
		c.checkAuth(),
		c.checkTimes(),
		c.checkLog(),
	}
	return errors.Join(problems...)
}

// auth is the kind of authentication in force.
func (c *serveConfig) auth() string {
	switch {
	case c.APIAuth != "":
		return c.APIAuth
	case c.APITokenFile != "":
		return "token"
	}
	return "none"
}

func (c *serveConfig) checkAuth() error {
	if c.APIAuth == "token" && c.APITokenFile == "" {
		return errors.New("api-auth = token needs api-token-file: the path of a file that " +
			"holds the token")
	}
	if c.APITokenFile != "" && c.auth() != "token" {
		return fmt.Errorf("api-token-file is of no use with api-auth = %s: leave one out", c.APIAuth)
	}
	return nil
}

func (c *serveConfig) checkLog() error {
	problem := oneOf("log-format", c.LogFormat, "text", "json")
	if hclog.LevelFromString(c.LogLevel) == hclog.NoLevel {
		return errors.Join(problem, fmt.Errorf("log-level = %q: use trace, debug, info, warn, "+
			"error or off", c.LogLevel))
	}
	return problem
}

func (c *serveConfig) checkTimes() error {
	var problems []error
	if c.Reconcile < time.Second {
		problems = append(problems, fmt.Errorf("reconcile = %s: must be 1s or more", c.Reconcile))
	}
	if c.DrainDelay < 0 {
		problems = append(problems, fmt.Errorf("drain-delay = %s: must not be negative", c.DrainDelay))
	}
	if c.ShutdownTimeout <= c.DrainDelay {
		problems = append(problems, fmt.Errorf(
			"shutdown-timeout = %s: must be longer than drain-delay (%s), which counts within it",
			c.ShutdownTimeout, c.DrainDelay))
	}
	return errors.Join(problems...)
}

func checkAddress(name, addr string) error {
	if _, port, err := net.SplitHostPort(addr); err != nil || port == "" {
		return fmt.Errorf("%s = %q: must be host:port, e.g. 127.0.0.1:8080", name, addr)
	}
	return nil
}

func oneOf(name, value string, allowed ...string) error {
	var named []string
	for _, a := range allowed {
		if a == value {
			return nil
		}
		if a != "" {
			named = append(named, a)
		}
	}
	return fmt.Errorf("%s = %q: use %s", name, value, strings.Join(named, " or "))
}

func atLeastOne(name string, n int) error {
	if n < 1 {
		return fmt.Errorf("%s = %d: must be 1 or more", name, n)
	}
	return nil
}

// list splits a comma-separated setting; nil for an empty one.
func list(text string) []string {
	var parts []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}
