package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"doze/api/wire"
)

func sleepVerb() verb {
	return verb{
		synopsis: "Put a group to sleep now",
		usage: "[options] GROUP\n\n" +
			"  Refused while requests are in flight or somebody keeps the group awake,\n" +
			"  unless -force is given.",
		prepare: func(s *settings) action {
			force := s.flags.Bool("force", false, "cut what is in flight and take leases away")
			return clientVerb(s, func(ctx context.Context, c *apiClient, args []string) error {
				id, err := c.oneGroup(ctx, args)
				if err != nil {
					return err
				}
				path := id.SleepPath()
				if *force {
					path += "?force=true"
				}
				var outcome wire.Outcome
				if err := c.call(ctx, http.MethodPost, path, &outcome); err != nil {
					return fmt.Errorf("cannot put %s to sleep: %w", id, inUse(err))
				}
				return c.tell(outcome)
			})
		},
	}
}

// inUse has the API's hints replaced by the flag, where it refuses for a group that is in use.
func inUse(err error) error {
	p, ok := errors.AsType[*wire.Problem](err)
	if !ok || p.Type != wire.ProblemInUse {
		return err
	}
	return fmt.Errorf("%w (-force cuts the requests and ends the leases; or wait until it is idle)", p)
}
