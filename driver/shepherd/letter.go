package shepherd

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"doze/healthgate"
)

// letterVersion is that of the format in which a Spec is handed over. Launch and the
// shepherd are the same program, so no other is ever read.
const letterVersion = 1

// maxLetter bounds a letter, in bytes.
const maxLetter = 8 << 20

// letter is a Spec on its way to its shepherd.
type letter struct {
	Version int
	Spec    Spec
	Probe   probeLetter
}

// probeLetter is healthgate.ProbeConfig without what can't be written down.
type probeLetter struct {
	Kind, Path, Method, Host string
	Header                   http.Header
	Statuses, Body           string
	TLS                      bool
	Service                  string
	Command                  []string
	Interval, Timeout        time.Duration
	InitialDelay             time.Duration
	Rise, Fall               int
}

func (s *Spec) write(w io.Writer) error {
	p := s.Probe
	return json.NewEncoder(w).Encode(letter{
		Version: letterVersion,
		Spec:    *s,
		Probe: probeLetter{
			Kind: p.Kind, Path: p.Path, Method: p.Method, Host: p.Host, Header: p.Header,
			Statuses: p.Statuses, Body: p.Body, TLS: p.TLS, Service: p.Service,
			Command: p.Command, Interval: p.Interval, Timeout: p.Timeout,
			InitialDelay: p.InitialDelay, Rise: p.Rise, Fall: p.Fall,
		},
	})
}

func readSpec(r io.Reader) (Spec, error) {
	var l letter
	if err := json.NewDecoder(io.LimitReader(r, maxLetter)).Decode(&l); err != nil {
		return Spec{}, fmt.Errorf("cannot read spec: %w", err)
	}
	if l.Version != letterVersion {
		return Spec{}, fmt.Errorf("cannot read spec: version %d is not %d", l.Version, letterVersion)
	}
	p := l.Probe
	l.Spec.Probe = healthgate.ProbeConfig{
		Kind: p.Kind, Path: p.Path, Method: p.Method, Host: p.Host, Header: p.Header,
		Statuses: p.Statuses, Body: p.Body, TLS: p.TLS, Service: p.Service,
		Command: p.Command, Interval: p.Interval, Timeout: p.Timeout,
		InitialDelay: p.InitialDelay, Rise: p.Rise, Fall: p.Fall,
	}
	return l.Spec, nil
}
