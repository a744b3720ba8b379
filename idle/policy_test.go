package idle_test

import (
	"strings"
	"testing"
	"time"

	"doze/idle"
)

func TestPolicy_severalMistakes_areAllReported(t *testing.T) {
	p := idle.Policy{
		Rungs: []idle.Rung{
			{Depth: idle.Park, After: time.Minute},
			{Depth: idle.Freeze, After: time.Second},
			{Depth: idle.Awake},
			{Depth: 9, After: time.Hour},
		},
		MinAwake: -1, DrainDelay: -1,
	}
	err := p.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"rung 1: freeze after 1s is not deeper and later than park after 1m0s",
		"rung 2: awake is no depth to sleep at", "rung 2: after is 0s, must be positive",
		"rung 3: 9 is no depth to sleep at",
		"wake timeout is 0s", "min awake is -1ns", "drain delay is -1ns",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
}

func TestPolicy_withoutRungs_isValidAndNeverSleeps(t *testing.T) {
	if err := (idle.Policy{WakeTimeout: time.Second}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestState_text_readsBackAndRefusesOthers(t *testing.T) {
	for _, want := range idle.States() {
		text, err := want.MarshalText()
		var got idle.State
		if err != nil || got.UnmarshalText(text) != nil || got != want {
			t.Errorf("%s reads back as %s (%v)", want, got, err)
		}
	}
	var s idle.State
	if err := s.UnmarshalText([]byte("running")); err == nil {
		t.Error("running was taken for a state")
	}
	if got := idle.State(42).String(); got != "42" {
		t.Errorf("an unknown state is %q", got)
	}
}

func TestDepth_text_readsBackAndRefusesOthers(t *testing.T) {
	for want := idle.Awake; want <= idle.Zero; want++ {
		text, err := want.MarshalText()
		var got idle.Depth
		if err != nil || got.UnmarshalText(text) != nil || got != want {
			t.Errorf("%s reads back as %s (%v)", want, got, err)
		}
	}
	var d idle.Depth
	if err := d.UnmarshalText([]byte("deep")); err == nil {
		t.Error("deep was taken for a depth")
	}
}
