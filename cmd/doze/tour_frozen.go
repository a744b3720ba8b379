package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/internal/demoapp"
)

// ifFreezes leaves a step out where there is no app that freezes.
func (t *tour) ifFreezes(do tourDo) tourDo {
	return func(ctx context.Context) (string, error) {
		if t.cluster.note != "" {
			return "", errLeftOut
		}
		return do(ctx)
	}
}

// startFrozen wakes the frozen app's group, whose first process tells when it was started.
func (t *tour) startFrozen(ctx context.Context) (string, error) {
	header, err := t.ask(ctx, frozenApp().name)
	if err != nil {
		return "", err
	}
	if t.started = header.Get(demoapp.StartedHeader); t.started == "" {
		return "", errors.New("its answer does not tell when it was started")
	}
	return header.Get("Server-Timing"), nil
}

// thaw requests the frozen app, and holds that the process answers that was frozen.
func (t *tour) thaw(ctx context.Context) (string, error) {
	header, err := t.ask(ctx, frozenApp().name)
	if err != nil {
		return "", err
	}
	if now := header.Get(demoapp.StartedHeader); now != t.started || now == "" {
		return "", fmt.Errorf("a process started at %q answers, not the one started at %q",
			now, t.started)
	}
	return "it was started at " + t.started, nil
}

// frozen waits until Nomad tells that the task of the frozen app is frozen.
func (t *tour) frozen(ctx context.Context) (string, error) {
	deadline := time.After(30 * time.Second)
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		allocs, _, err := t.cluster.client.Jobs().Allocations(frozenApp().jobID(), false, nil)
		if err != nil {
			return "", fmt.Errorf("cannot read the allocations: %w", err)
		}
		if event := lastEvent(allocs); strings.HasPrefix(event, "frozen") {
			return event, nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return "", ctx.Err()
		case <-deadline:
			return "", fmt.Errorf("not frozen after 30s; the task's last event: %q", lastEvent(allocs))
		}
	}
}

// lastEvent is the newest event of the one allocation's one task.
func lastEvent(allocs []*nomad.AllocationListStub) string {
	for _, alloc := range allocs {
		for _, task := range alloc.TaskStates {
			if n := len(task.Events); n > 0 {
				return task.Events[n-1].DisplayMessage
			}
		}
	}
	return ""
}
