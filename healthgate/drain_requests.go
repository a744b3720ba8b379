package healthgate

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// finishRequests closes all listeners, tells upgraded connections and waits until nothing
// is in flight. What exceeds the limit is cut.
func (d *Drain) finishRequests(limit drainLimit) error {
	upgraded := d.cfg.Upgraded
	if upgraded == nil {
		upgraded = new(Upgraded)
	}
	// A request that is finishing may still upgrade, so these wait after the servers.
	upgraded.leave()
	defer upgraded.stay()
	err := d.shutServers(limit)
	return errors.Join(err, upgraded.wait(limit))
}

func (d *Drain) shutServers(limit drainLimit) error {
	beforeCut := sync.OnceFunc(func() {
		if d.cfg.BeforeCut != nil {
			d.cfg.BeforeCut()
		}
	})
	errs := make([]error, len(d.cfg.Servers))
	var all sync.WaitGroup
	for i, server := range d.cfg.Servers {
		all.Go(func() {
			if err := shutServer(limit, server, beforeCut); err != nil {
				errs[i] = fmt.Errorf("cannot finish the requests of server %d: %w", i, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// shutServer waits until the time is up and, once what is held has been refused, for those
// answers to be sent. Then it cuts.
func shutServer(limit drainLimit, server DrainServer, beforeCut func()) error {
	end := beginDrainPart(limit.hard, server.Shutdown)
	select {
	case err := <-end:
		return err
	case <-limit.soft.Done():
		beforeCut()
	}
	select {
	case err := <-end:
		if limit.hard.Err() == nil {
			return err
		}
	case <-limit.hard.Done():
	}
	return errors.Join(fmt.Errorf("cut off: %w", context.Cause(limit.soft)), server.Close())
}
