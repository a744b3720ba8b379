package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"doze/api/wire"
)

func wakeVerb() verb {
	return verb{
		synopsis: "Wake a group, or all of them",
		usage: "[options] GROUP | -all\n\n" +
			"  Wakes the group and waits until it is ready. With -all every group is woken,\n" +
			"  e.g. before Doze is taken away: the jobs need nothing of it to run.",
		prepare: prepareWake,
	}
}

func prepareWake(s *settings) action {
	wait := s.flags.Duration("wait", time.Minute, "`time` to wait for it to be ready; 0: don't")
	all := s.flags.Bool("all", false, "wake every group")
	return clientVerb(s, func(ctx context.Context, c *apiClient, args []string) error {
		if *wait < 0 {
			return usagef("wait %s: must not be negative", *wait)
		}
		if *all {
			return wakeAll(ctx, c, args, *wait)
		}
		id, err := c.oneGroup(ctx, args)
		if err != nil {
			return err
		}
		return wakeOne(ctx, c, id, *wait)
	})
}

func wakeOne(ctx context.Context, c *apiClient, id wire.ID, wait time.Duration) error {
	path := id.WakePath()
	if wait > 0 {
		path += "?wait=" + wait.String()
	}
	ctx, cancel := context.WithTimeout(ctx, wait+callTimeout)
	defer cancel()
	var outcome wire.Outcome
	if err := c.call(ctx, http.MethodPost, path, &outcome); err != nil {
		return fmt.Errorf("cannot wake %s: %w", id, err)
	}
	return c.tell(outcome)
}

// wakeAll asks for every group first and waits for them afterwards, so that they boot at
// the same time. One that cannot be woken keeps none of the others asleep.
func wakeAll(ctx context.Context, c *apiClient, args []string, wait time.Duration) error {
	if len(args) > 0 {
		return usagef("-all and a group's name contradict each other")
	}
	list, err := c.groups(ctx)
	if err != nil {
		return err
	}
	var problems []error
	var asked []wire.Group
	for _, g := range list.Groups {
		var outcome wire.Outcome
		switch err := c.call(ctx, http.MethodPost, g.WakePath(), &outcome); {
		case err != nil:
			problems = append(problems, fmt.Errorf("cannot wake %s: %w", g.ID, err))
		case wait > 0:
			asked = append(asked, g)
		default:
			problems = append(problems, c.tell(outcome))
		}
	}
	for _, g := range asked {
		problems = append(problems, wakeOne(ctx, c, g.ID, wait))
	}
	return errors.Join(problems...)
}

// tell prints what a command came to.
func (c *apiClient) tell(o wire.Outcome) error {
	for _, warning := range o.Warnings {
		say(c.term.stderr, "doze: warning: %s\n", warning)
	}
	if c.json {
		return c.print(o)
	}
	say(c.term.stdout, "%s is %s: %s\n", o.Group.ID, o.Group.State, o.Group.Why)
	return nil
}
