package driver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"doze/healthgate"
)

// The words of start and activation.
const (
	startEager       = "eager"
	startOnDemand    = "on_demand"
	activationRelay  = "relay"
	activationSocket = "socket"
)

// What a key means that a job leaves out.
const (
	defaultFreezeAfter = 30 * time.Second
	defaultWakeTimeout = time.Minute
	defaultParkSignal  = "SIGTERM"
	defaultParkTimeout = 5 * time.Second
	defaultPidsLimit   = 4096
)

// TaskConfig is the config block of a task, as docs/driver.md describes it.
type TaskConfig struct {
	Command string
	Args    []string

	// Listen is the label of the port that wakes; "": the task never sleeps by itself.
	Listen string
	// Activation says who holds that port: "relay" the shepherd, "socket" the app.
	Activation string
	// PortEnv names the variable that tells the app its private port, beside DOZE_PORT.
	PortEnv string

	// FreezeAfter and ParkAfter are how long nobody may have used the task; 0: never.
	FreezeAfter, ParkAfter time.Duration
	// OnDemand: the process is not started before it is asked for.
	OnDemand bool
	// WakeTimeout bounds a wake.
	WakeTimeout time.Duration
	// ParkSignal asks the process to end when the task is parked; after ParkTimeout it is
	// killed.
	ParkSignal  string
	ParkTimeout time.Duration

	Probe  healthgate.ProbeConfig
	Shield []string // paths that are answered for a sleeping task

	// PidsLimit bounds the task's processes and threads.
	PidsLimit int

	Logs LogConfig
}

// rawTask is the config block as Nomad sends it. A nil pointer is a key left out.
type rawTask struct {
	Command     string              `hcl:"command"`
	Args        []string            `hcl:"args"`
	Listen      string              `hcl:"listen"`
	Activation  string              `hcl:"activation"`
	PortEnv     string              `hcl:"port_env"`
	FreezeAfter *string             `hcl:"freeze_after"`
	ParkAfter   *string             `hcl:"park_after"`
	Start       string              `hcl:"start"`
	WakeTimeout *string             `hcl:"wake_timeout"`
	ParkSignal  string              `hcl:"park_signal"`
	ParkTimeout *string             `hcl:"park_timeout"`
	Probe       map[string]rawProbe `hcl:"probe"`
	Shield      []string            `hcl:"shield"`
	PidsLimit   *int                `hcl:"pids_limit"`
	Logs        *rawLogs            `hcl:"logs"`
}

// read returns what the block says, and all that is wrong with it.
func (r rawTask) read() (TaskConfig, Problems) {
	var ps Problems
	c := TaskConfig{
		Command: r.Command, Args: r.Args, Listen: r.Listen, PortEnv: r.PortEnv,
		Activation: word(r.Activation, activationRelay), Shield: r.Shield,
		OnDemand: r.Start == startOnDemand, PidsLimit: defaultPidsLimit,
	}
	if r.PidsLimit != nil {
		c.PidsLimit = *r.PidsLimit
	}
	if strings.TrimSpace(c.Command) == "" {
		ps.add("command", "name a program, as in local/web", "is empty")
	}
	r.readWords(&ps)
	c.FreezeAfter = r.sleepAfter("freeze_after", r.FreezeAfter, &ps)
	c.ParkAfter = r.sleepAfter("park_after", r.ParkAfter, &ps)
	if r.FreezeAfter == nil && r.Listen != "" && !within(c.ParkAfter, defaultFreezeAfter) {
		c.FreezeAfter = defaultFreezeAfter
	}
	c.WakeTimeout = duration("wake_timeout", r.WakeTimeout, &ps)
	if r.WakeTimeout == nil {
		c.WakeTimeout = defaultWakeTimeout
	}
	c.ParkSignal = r.parkSignal(&ps)
	c.ParkTimeout = duration("park_timeout", r.ParkTimeout, &ps)
	if r.ParkTimeout == nil {
		c.ParkTimeout = min(defaultParkTimeout, c.WakeTimeout)
	}
	c.Probe = readProbe(r.Probe, &ps)
	c.Logs = r.Logs.read(&ps)
	c.check(&ps)
	r.checkListener(&ps)
	return c, ps
}

// within reports whether d is set and no longer than limit.
func within(d, limit time.Duration) bool { return d != 0 && d <= limit }

// word is got, or the one that stands for a key left out.
func word(got, otherwise string) string {
	if got == "" {
		return otherwise
	}
	return got
}

func (r rawTask) readWords(ps *Problems) {
	if r.Start != "" && r.Start != startEager && r.Start != startOnDemand {
		ps.add("start", `use "eager" or "on_demand"`, "is %q", r.Start)
	}
	if r.Activation != "" && r.Activation != activationRelay && r.Activation != activationSocket {
		ps.add("activation", `use "relay" or "socket"`, "is %q", r.Activation)
	}
}

// parkSignal reads park_signal, which has to be one that may end a process.
func (r rawTask) parkSignal(ps *Problems) string {
	if r.ParkSignal == "" {
		return defaultParkSignal
	}
	order, name, err := readSignal(r.ParkSignal)
	hint := "use one that ends the app, as " + strings.Join(commonSignals(), ", ") + " may"
	switch {
	case err != nil:
		ps.add("park_signal", hint, "there is no signal %q", r.ParkSignal)
	case order != orderDeliver:
		ps.add("park_signal", hint, "%s ends no process", name)
	}
	return name
}

// sleepAfter reads freeze_after or park_after; "" is never.
func (r rawTask) sleepAfter(key string, text *string, ps *Problems) time.Duration {
	if text == nil || *text == "" {
		return 0
	}
	return duration(key, text, ps)
}

// duration reads a duration of at least a millisecond; nil: 0.
func duration(key string, text *string, ps *Problems) time.Duration {
	if text == nil {
		return 0
	}
	d, err := time.ParseDuration(*text)
	switch {
	case err != nil:
		ps.add(key, `write it as "30s", "15m" or "1h30m"`, "%q is no duration", *text)
		return 0
	case d < time.Millisecond:
		ps.add(key, `use at least "1ms"`, "%q is too short", *text)
		return 0
	}
	return d
}

// check looks for values that contradict each other.
func (c TaskConfig) check(ps *Problems) {
	if c.FreezeAfter != 0 && c.ParkAfter != 0 && c.ParkAfter <= c.FreezeAfter {
		ps.add("park_after", `make it longer, or set freeze_after = ""`,
			"%s is not longer than freeze_after, %s", c.ParkAfter, c.FreezeAfter)
	}
	if c.ParkTimeout > c.WakeTimeout && c.WakeTimeout > 0 {
		ps.add("park_timeout", "make it shorter, or wake_timeout longer",
			"%s is longer than wake_timeout, %s, in which a connection that comes meanwhile "+
				"has to be served", c.ParkTimeout, c.WakeTimeout)
	}
	if c.Activation == activationSocket {
		c.checkSocket(ps)
	}
	if c.PidsLimit < 1 {
		ps.add("pids_limit", "use at least 1, or leave it out for 4096", "is %d", c.PidsLimit)
	}
	if c.PortEnv != "" && !isVariable(c.PortEnv) {
		ps.add("port_env", "use letters, digits and _, as in PORT",
			"%q is no name of a variable", c.PortEnv)
	}
	for i, path := range c.Shield {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, " ?#\r\n") {
			ps.add(fmt.Sprintf("shield[%d]", i), "write a path, as in /healthz",
				"%q is no path", path)
		}
	}
}

// checkSocket finds what only a relay can do.
func (c TaskConfig) checkSocket(ps *Problems) {
	const hint = `leave it out, or set activation = "relay"`
	if c.PortEnv != "" {
		ps.add("port_env", hint,
			`means nothing with activation = "socket": the app gets the socket itself`)
	}
	if len(c.Shield) > 0 {
		ps.add("shield", hint,
			`means nothing with activation = "socket": nobody but the app takes connections`)
	}
}

// checkListener finds keys that mean nothing without listen. A task may then be put to sleep
// by signal alone: what bounds and ends that has its meaning.
func (r rawTask) checkListener(ps *Problems) {
	if r.Listen != "" {
		return
	}
	set := map[string]bool{
		"freeze_after": r.FreezeAfter != nil && *r.FreezeAfter != "",
		"park_after":   r.ParkAfter != nil && *r.ParkAfter != "",
		"start":        r.Start == startOnDemand,
		"activation":   r.Activation != "",
		"port_env":     r.PortEnv != "",
		"shield":       len(r.Shield) > 0,
		"probe":        len(r.Probe) > 0,
	}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		if set[key] {
			ps.add(key, `name the port that wakes the task, as in listen = "http"`,
				"means nothing without listen")
		}
	}
}

func isVariable(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}
