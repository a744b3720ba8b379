package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"doze/api/wire"
)

func leaseVerb() verb {
	return verb{
		synopsis: "Keep a group awake for a while",
		usage: "[options] GROUP\n\n" +
			"  Takes a named lease: the group wakes if it sleeps and stays awake until the\n" +
			"  lease ends. The longest of several wins. -drop ends one early.",
		prepare: prepareLease,
	}
}

func prepareLease(s *settings) action {
	name := s.flags.String("name", "cli", "`name` of the lease: who or what needs the group")
	span := s.flags.Duration("for", time.Hour, "`time` to keep the group awake")
	drop := s.flags.Bool("drop", false, "end the lease")
	return clientVerb(s, func(ctx context.Context, c *apiClient, args []string) error {
		id, err := c.oneGroup(ctx, args)
		if err != nil {
			return err
		}
		method, path := http.MethodPut, id.LeasePath(*name)+"?for="+url.QueryEscape(span.String())
		if *drop {
			method, path = http.MethodDelete, id.LeasePath(*name)
		}
		var outcome wire.LeaseOutcome
		if err := c.call(ctx, method, path, &outcome); err != nil {
			return fmt.Errorf("cannot change the lease of %s: %w", id, err)
		}
		return c.tellLease(outcome)
	})
}

func (c *apiClient) tellLease(o wire.LeaseOutcome) error {
	for _, warning := range o.Warnings {
		say(c.term.stderr, "doze: warning: %s\n", warning)
	}
	switch {
	case c.json:
		return c.print(o)
	case !o.Until.IsZero():
		say(c.term.stdout, "%s is kept awake by %q until %s\n",
			o.Group.ID, o.Name, o.Until.Local().Format(time.DateTime))
	case o.Dropped:
		say(c.term.stdout, "%s is no longer kept awake by %q\n", o.Group.ID, o.Name)
	default:
		say(c.term.stdout, "%s was not kept awake by %q\n", o.Group.ID, o.Name)
	}
	return nil
}
