package jobs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"doze/healthgate"
)

// probeValue is the probe block, whose label is its kind.
type probeValue struct{ to **healthgate.ProbeConfig }

func (probeValue) kind() string { return "block with a label: http, tcp or grpc" }

func (p probeValue) read(at place, v any) {
	labelled := labelsOf(at, v)
	if len(labelled) > 1 {
		at.fault(fmt.Sprintf("there are %d probes", len(labelled)), "keep one")
	}
	for _, l := range labelled {
		if probe := l.probe(); probe != nil {
			*p.to = probe
		}
	}
}

// labelledBlock is one block below a label, `probe "http" {}`.
type labelledBlock struct {
	at    place // of the outer block
	label string
	body  any
}

// labelsOf reads v as labelled blocks. Whatever their number, the label is in the path, so
// no index is needed.
func labelsOf(at place, v any) []labelledBlock {
	list, ok := listOf(v)
	if !ok {
		list = []any{v}
	}
	var found []labelledBlock
	for _, item := range list {
		keys, isMap := item.(map[string]any)
		switch _, skipped := item.(unevaluated); {
		case skipped:
		case !isMap:
			at.fault("must be a block with a label, not "+describe(item),
				`write probe "http" { path = "/healthz" }`)
		case len(keys) == 0:
			at.fault("has no label", `write probe "http" {}, probe "tcp" {} or probe "grpc" {}`)
		}
		for _, label := range slices.Sorted(maps.Keys(keys)) {
			found = append(found, labelledBlock{at, label, keys[label]})
		}
	}
	return found
}

// probe reads the block as a probe; nil where there is no such kind.
func (l labelledBlock) probe() *healthgate.ProbeConfig {
	here := l.at.under(l.label)
	cfg := &healthgate.ProbeConfig{Kind: l.label}
	keys := probeSchema(l.label, cfg)
	switch {
	case l.label == "exec":
		here.fault("would run a command of the job on Doze's own machine",
			"exec probes are for the doze task driver; use http, tcp or grpc here")
		return nil
	case keys == nil && probeKindOf(l.label) != "":
		l.at.fault("has no label", fmt.Sprintf("write probe %q { %s = … }",
			probeKindOf(l.label), l.label))
		return nil
	case keys == nil:
		here.fault(fmt.Sprintf("there is no probe %q", l.label),
			didYouMean(l.label, []string{"http", "tcp", "grpc"}))
		return nil
	}
	if b, ok := oneBlock(here, l.body); ok {
		keys.read(b)
	}
	reportInvalid(here, cfg)
	return cfg
}

// reportInvalid reports what healthgate finds wrong with a probe.
func reportInvalid(at place, cfg *healthgate.ProbeConfig) {
	for _, err := range problemsOf(cfg) {
		if field, ok := errors.AsType[*healthgate.FieldError](err); ok {
			key := field.Key
			if key == "header" {
				key = "headers"
			}
			at.under(key).fault(field.Problem, "")
			continue
		}
		at.fault(err.Error(), "")
	}
}

// problemsOf returns what is wrong with a probe, one error each.
func problemsOf(cfg *healthgate.ProbeConfig) []error {
	switch err := cfg.Validate().(type) {
	case nil:
		return nil
	case interface{ Unwrap() []error }:
		return err.Unwrap()
	default:
		return []error{err}
	}
}

// probeSchema is a probe block of one kind; nil where there is no such kind.
func probeSchema(kind string, c *healthgate.ProbeConfig) schema {
	pace := schema{
		{"interval", durationValue{&c.Interval, time.Millisecond}, `"1s"`,
			"Between probes of a target that has answered once. Until then it is asked " +
				"after milliseconds, whatever this says."},
		{"timeout", durationValue{&c.Timeout, time.Millisecond}, `"1s"`,
			"Bounds one probe; it grows while a target is merely slow."},
		{"initial_delay", durationValue{&c.InitialDelay, 0}, `"0s"`,
			"Waited before the first probe of a target."},
		{"rise", numberValue{&c.Rise, 1, 1000}, "1",
			"Passed probes in a row until requests may go there."},
		{"fall", numberValue{&c.Fall, 1, 1000}, "3",
			"Failed probes in a row until they no longer may."},
	}
	tls := setting{"tls", flagValue{&c.TLS}, "false",
		"Speak TLS; the certificate is not verified."}
	switch kind {
	case "http":
		return append(httpSchema(c), append(schema{tls}, pace...)...)
	case "tcp":
		return pace
	case "grpc":
		service := setting{"service", textValue{to: &c.Service}, `""`,
			"Service to ask grpc.health.v1 for; empty asks for the server."}
		return append(schema{service, tls}, pace...)
	}
	return nil
}

// probeKindOf returns the kind of probe that a key belongs to, "" for a key of none.
func probeKindOf(key string) string {
	for _, kind := range []string{"http", "grpc"} {
		if slices.Contains(probeSchema(kind, &healthgate.ProbeConfig{}).names(), key) {
			return kind
		}
	}
	return ""
}

// hasProbeKeys reports whether s is the schema of a probe block.
func (s schema) hasProbeKeys() bool { return slices.Contains(s.names(), "initial_delay") }
