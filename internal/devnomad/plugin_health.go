package devnomad

import (
	"context"
	"errors"
	"fmt"

	"doze/plugins/drivers"
)

// errEnough ends a stream whose first message was all that was wanted.
var errEnough = errors.New("enough")

// Healthy returns nil where the driver says that it can run tasks on this machine, else why
// it can't.
func (r *PluginRunner) Healthy(ctx context.Context) error {
	session, err := r.current(ctx)
	if err != nil {
		return err
	}
	var first drivers.Fingerprint
	err = session.Fingerprint(ctx, func(f drivers.Fingerprint) error {
		first = f
		return errEnough
	})
	if !errors.Is(err, errEnough) {
		return fmt.Errorf("cannot ask the driver for its health: %w", err)
	}
	if first.Health != drivers.Healthy {
		return fmt.Errorf("the driver is %s: %s", first.Health, first.Reason)
	}
	return nil
}
