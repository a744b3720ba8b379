package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// subscribe opens the session's event streams and returns when each has sent its first
// line: one stream over all namespaces, or, where the token may not read all of them, one
// for each that it may.
func (s *session) subscribe(ctx context.Context) error {
	if s.watcher.namespaces != nil {
		return s.openAll(ctx, s.watcher.namespaces, nil)
	}
	var refused error
	if !s.watcher.narrow {
		refused = s.open(ctx, "*")
		if refused == nil || !isRefusal(refused) {
			return refused
		}
	}
	names, _, err := s.client.namespaces(ctx, 0)
	if err != nil {
		return cmp.Or(refused, err)
	}
	err = s.openAll(ctx, names, refused)
	s.watcher.narrow = err == nil
	return err
}

// isRefusal: the stream may have been refused for lack of rights.
func isRefusal(err error) bool { return isDenied(err) || errors.Is(err, errNotOpened) }

// openAll opens a stream for each namespace. One that is refused is left out as long as
// any other is not.
func (s *session) openAll(ctx context.Context, names []string, refused error) error {
	if len(names) > maxStreams {
		s.watcher.log.Warn("too many namespaces to follow them all; give the token "+
			"read-job in every namespace, or name those that matter; the others are "+
			"looked at now and then", "namespaces", len(names), "followed", maxStreams)
		names = names[:maxStreams]
	}
	opened := 0
	for _, ns := range names {
		switch err := s.open(ctx, ns); {
		case err == nil:
			opened++
		case isRefusal(err):
			refused = err
		default:
			return err
		}
	}
	if opened == 0 {
		return fmt.Errorf("cannot follow any namespace; the token needs read-job: %w",
			refused)
	}
	return nil
}

// open opens one stream and returns when it has sent its first line; its later end is the
// session's.
func (s *session) open(ctx context.Context, ns string) error {
	opened, failed := make(chan struct{}), make(chan error, 1)
	s.readers.Go(func() {
		first := true
		err := s.client.stream(ctx, ns, func(b batch) bool {
			if first {
				close(opened)
				first = false
			}
			return s.deliver(ctx, b)
		})
		if failed <- err; !first {
			s.ended(err)
		}
	})
	select {
	case <-opened:
		return nil
	case err := <-failed:
		return err
	}
}

// deliver hands a line over; false: the session has ended.
func (s *session) deliver(ctx context.Context, b batch) bool {
	if len(b.Events) == 0 {
		return true
	}
	select {
	case s.lines <- b:
		return true
	case <-ctx.Done():
		return false
	}
}
