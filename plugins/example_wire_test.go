package plugins_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"doze/plugins/base"
	"doze/plugins/drivers"
	"doze/plugins/host"
)

func TestExample_servedOverTheSocket_runsStopsAndRecovers(t *testing.T) {
	ctx := t.Context()
	p, err := host.Launch(plugin(t, "timer"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	if err := p.SetConfig(ctx, base.Config{Agent: &base.Agent{}}); err != nil {
		t.Fatal(err)
	}
	schema, err := p.TaskSchema(ctx)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := host.EncodeConfig(schema, map[string]any{"for": "1h"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	h, _, err := p.Start(ctx, drivers.TaskConfig{ID: "a/web/1", Name: "web", Raw: raw})
	if err != nil {
		t.Fatal(err)
	}
	var message string
	enough := errors.New("enough")
	if err := p.Events(ctx, func(e drivers.Event) error { message = e.Message; return enough }); err != enough {
		t.Fatal(err)
	}
	if message != "Runs for 1h0m0s" {
		t.Errorf("the event is %q", message)
	}
	if err := p.Crash(); err != nil {
		t.Fatal(err)
	}

	again, err := host.Launch(plugin(t, "timer"))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Kill()
	if err := again.SetConfig(ctx, base.Config{Agent: &base.Agent{}}); err != nil {
		t.Fatal(err)
	}
	if err := again.Recover(ctx, h); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := again.Wait(short, "a/web/1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the recovered task's Wait returned %v", err)
	}
	if err := again.Stop(ctx, "a/web/1", drivers.StopRequest{}); err != nil {
		t.Fatal(err)
	}
	if r, err := again.Wait(ctx, "a/web/1"); err != nil || r != (drivers.ExitResult{}) {
		t.Errorf("after Stop, Wait returned %+v, %v", r, err)
	}
}
