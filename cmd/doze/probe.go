package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"doze/healthgate"
)

func probeVerb() verb {
	return verb{
		synopsis: "Ask targets whether they are ready",
		usage: "[options] URL…\n\n" +
			"  Probes every URL once and prints a verdict for each; for a Nomad script check or\n" +
			"  a container's HEALTHCHECK. URLs: http://host:port/path, https://…,\n" +
			"  tcp://host:port, grpc://host:port/service, grpcs://….\n\n" +
			"  The exit status is the worst verdict: 0 up, 1 busy (listens, but is not ready or\n" +
			"  answers late), 2 hung (busy for all of -grace), 3 dead (refuses), 4 unknown (the\n" +
			"  probe itself failed, or the URL or a flag is wrong).",
		prepare: prepareProbe,
	}
}

// probeConfig is the settings of `doze probe`.
type probeConfig struct {
	timeout, grace time.Duration
	concurrency    int
	json           bool
}

func prepareProbe(s *settings) action {
	var cfg probeConfig
	s.flags.DurationVar(&cfg.timeout, "timeout", time.Second, "`time` one probe may take")
	s.flags.DurationVar(&cfg.grace, "grace", 0,
		"`time` to go on asking a busy target before it is hung; 0: ask once")
	s.flags.IntVar(&cfg.concurrency, "concurrency", 128, "`targets` probed at once")
	s.flags.BoolVar(&cfg.json, "json", false, "print JSON, for programs")
	s.usageStatus = int(healthgate.Unknown)
	return func(ctx context.Context, term terminal, args []string) error {
		subjects, err := cfg.subjects(args)
		if err != nil {
			complain(term, err)
			return statusError(healthgate.Unknown)
		}
		judge := healthgate.NewJudge(healthgate.JudgeConfig{
			Concurrency: cfg.concurrency, Grace: cfg.grace,
		})
		findings := judge.Run(ctx, subjects)
		if err := cfg.print(term, findings); err != nil {
			complain(term, err)
			return statusError(healthgate.Unknown)
		}
		if worst := healthgate.Worst(findings); worst != healthgate.Up {
			return statusError(worst)
		}
		return nil
	}
}

func (c *probeConfig) subjects(urls []string) ([]healthgate.Subject, error) {
	switch {
	case len(urls) == 0:
		return nil, usagef("name at least one URL to probe, e.g. http://127.0.0.1:8080/healthz")
	case c.timeout <= 0:
		return nil, usagef("timeout = %s: must be longer than 0", c.timeout)
	case c.grace < 0:
		return nil, usagef("grace = %s: must not be negative", c.grace)
	case c.concurrency < 1:
		return nil, usagef("concurrency = %d: must be 1 or more", c.concurrency)
	}
	var subjects []healthgate.Subject
	for _, url := range urls {
		addr, probe, err := healthgate.ParseProbeURL(url)
		if err != nil {
			return nil, err
		}
		probe.Timeout = c.timeout
		subjects = append(subjects, healthgate.Subject{Addr: addr, Probe: probe})
	}
	return subjects, nil
}

// probeResult is one target's verdict, as -json prints it.
type probeResult struct {
	URL     string `json:"url"`
	Verdict string `json:"verdict"`
	Error   string `json:"error,omitempty"`
	Took    string `json:"took"`
}

func (c *probeConfig) print(term terminal, findings []healthgate.Finding) error {
	results := make([]probeResult, len(findings))
	words := make([]string, len(findings))
	for i, f := range findings {
		results[i] = probeResult{URL: subjectURL(f.Subject), Verdict: f.Verdict.String(),
			Took: f.Took.Round(10 * time.Microsecond).String()}
		words[i] = fmt.Sprintf("%s %s", results[i].URL, f.Verdict)
		if f.Err != nil {
			results[i].Error = f.Err.Error()
			words[i] += " (" + results[i].Error + ")"
		}
	}
	if c.json {
		return printJSON(term.stdout, results)
	}
	say(term.stdout, "%s: %s\n", healthgate.Worst(findings), strings.Join(words, ", "))
	return nil
}

// subjectURL writes a subject as the URL it was read from.
func subjectURL(s healthgate.Subject) string {
	scheme, path := s.Probe.Kind, ""
	switch s.Probe.Kind {
	case "http":
		path = s.Probe.Path
	case "grpc":
		path = "/" + s.Probe.Service
	}
	if s.Probe.TLS {
		scheme += "s"
	}
	return scheme + "://" + s.Addr + path
}
