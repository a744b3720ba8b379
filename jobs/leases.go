package jobs

import (
	"context"
	"fmt"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/idle"
)

// SaveLeases keeps a group's keep-awake leases (name to end) in Nomad: a scaling event that
// changes no count. None: there are no more. The group must be managed, which also means
// that its job is a service job: an event without a count of a system job harms Nomad.
func (w *Watcher) SaveLeases(ctx context.Context, id idle.GroupID,
	leases map[string]time.Time) error {
	if err := w.doGroup(ctx, id, func(*group, Sink) {}); err != nil {
		return fmt.Errorf("cannot save the leases of %s: %w", id, err)
	}
	ends := make(map[string]string, len(leases))
	for name, end := range leases {
		ends[name] = end.UTC().Format(time.RFC3339Nano)
	}
	_, err := w.client.scale(ctx, id, &nomad.ScalingRequest{
		Message: fmt.Sprintf("doze: %d keep-awake leases", len(ends)),
		Meta:    map[string]any{metaKind: "leases", metaLeases: ends},
	})
	return err
}

// Leases returns the leases that were saved last and have not ended.
func (w *Watcher) Leases(ctx context.Context,
	id idle.GroupID) (map[string]time.Time, error) {
	status, err := w.client.scaleStatus(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, e := range status.TaskGroups[id.Group].Events {
		if e.Meta[metaKind] == "leases" {
			return readLeases(e.Meta[metaLeases], time.Now()), nil
		}
	}
	return nil, nil
}

// readLeases reads what SaveLeases wrote. What cannot be read is no lease.
func readLeases(saved any, now time.Time) map[string]time.Time {
	ends, ok := saved.(map[string]any)
	if !ok {
		return nil
	}
	leases := make(map[string]time.Time, len(ends))
	for name, v := range ends {
		text, _ := v.(string)
		if end, err := time.Parse(time.RFC3339Nano, text); err == nil && end.After(now) {
			leases[name] = end
		}
	}
	return leases
}
