package shepherd

import (
	"errors"
	"path/filepath"
	"strings"

	"doze/idle"
)

// Validate reports everything about s that can be known to be wrong before anything is
// done, joined.
func (s *Spec) Validate() error {
	var errs []error
	bad := func(is bool, text string) {
		if is {
			errs = append(errs, errors.New(text))
		}
	}
	bad(s.Command == "", "command: required")
	bad(!filepath.IsAbs(s.Dir), "dir: must be an absolute path")
	bad(s.Activation != Relay && s.Activation != Socket,
		`activation: must be left out or "socket"`)
	bad(s.Activation == Socket && s.Listen == "", "activation: needs a port to listen on")
	bad(s.Activation == Socket && len(s.Shield) > 0,
		"shield: the shepherd sees no requests with activation = \"socket\"")
	bad(s.FreezeAfter < 0, "freeze_after: must not be negative")
	bad(s.ParkAfter < 0, "park_after: must not be negative")
	bad(s.FreezeAfter > 0 && s.ParkAfter > 0 && s.ParkAfter <= s.FreezeAfter,
		"park_after: must be longer than freeze_after")
	bad(s.OnDemand && s.Listen == "", "start: on_demand needs a port to listen on")
	for _, path := range s.Shield {
		bad(!strings.HasPrefix(path, "/") || strings.ContainsAny(path, "? \t\r\n"),
			"shield: "+path+": must be a plain path that begins with /")
	}
	_, err := parseSignal(s.ParkSignal, 0)
	errs = append(errs, err, s.probe().Validate(), s.Logs.validate())
	bad(s.Logs.on() && (!discards(s.Stdout) || !discards(s.Stderr)),
		"logs: the output goes to a pipe already")
	return errors.Join(errs...)
}

// withDefaults fills in what Spec documents.
func (s Spec) withDefaults() Spec {
	if s.WakeTimeout <= 0 {
		s.WakeTimeout = defaultWakeTimeout
	}
	if s.ParkTimeout <= 0 {
		s.ParkTimeout = defaultStopTimeout
	}
	if s.Pressure == "" {
		s.Pressure = "/proc/pressure/memory"
	}
	return s
}

// policy is when the task sleeps by itself, where it can.
func (s *Spec) policy(freezer bool) idle.Policy {
	p := idle.Policy{WakeTimeout: s.WakeTimeout}
	if s.Listen == "" {
		return p
	}
	if s.FreezeAfter > 0 && freezer {
		p.Rungs = append(p.Rungs, idle.Rung{Depth: idle.Freeze, After: s.FreezeAfter})
	}
	if s.ParkAfter > 0 {
		p.Rungs = append(p.Rungs, idle.Rung{Depth: idle.Park, After: s.ParkAfter})
	}
	return p
}
