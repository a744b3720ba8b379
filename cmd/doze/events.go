package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"doze/api/wire"
)

func eventsVerb() verb {
	return verb{
		synopsis: "Follow what the groups do",
		usage: "[options] [GROUP]\n\n" +
			"  Prints every change of state as it happens, until interrupted.",
		prepare: prepareEvents,
	}
}

func prepareEvents(s *settings) action {
	last := s.flags.String("last-event-id", "", "`id` of the event to go on after")
	return clientVerb(s, func(ctx context.Context, c *apiClient, args []string) error {
		path := wire.EventsPath
		if len(args) > 0 {
			id, err := c.oneGroup(ctx, args)
			if err != nil {
				return err
			}
			path += "?" + url.Values{"namespace": {id.Namespace}, "job": {id.Job},
				"group": {id.Group}}.Encode()
		} else if c.namespace != "" {
			path += "?namespace=" + url.QueryEscape(c.namespace)
		}
		err := c.stream(ctx, path, *last, c.tellEvent)
		if ctx.Err() != nil {
			return nil // interrupted, as intended
		}
		if err == nil {
			err = errors.New("doze serve has ended the stream")
		}
		return err
	})
}

func (c *apiClient) tellEvent(name, id, data string) error {
	switch {
	case c.json:
		say(c.term.stdout, "%s\n", data)
		return nil
	case name == wire.EventReset:
		var reset wire.Reset
		if err := json.Unmarshal([]byte(data), &reset); err != nil {
			return fmt.Errorf("cannot read event %s: %w", id, err)
		}
		say(c.term.stdout, "(some events are missing here: %s)\n", reset.Reason)
		return nil
	}
	var event wire.Event
	if err := json.Unmarshal([]byte(data), &event); err != nil {
		return fmt.Errorf("cannot read event %s: %w", id, err)
	}
	say(c.term.stdout, "%s  %s  %s → %s  %s\n", clockText(event.At), event.Transition.ID,
		event.From, event.To, causeText(event.Transition))
	return nil
}
