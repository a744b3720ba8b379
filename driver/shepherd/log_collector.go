package shepherd

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"
)

// drainWithin is how long the end of a task waits for its last words to be written: a disk
// may hang.
const drainWithin = 2 * time.Second

// logCollector writes both of the application's outputs to files.
type logCollector struct {
	streams [2]*logStream
	log     *slog.Logger
}

// newLogCollector begins to collect at once. What can't be written is no error, but an
// event.
func newLogCollector(
	where LogFiles, cred *syscall.Credential, event func(Event), log *slog.Logger,
) (*logCollector, error) {
	c := &logCollector{log: log}
	bufs := &sync.Pool{New: func() any { return new(logBuffer) }}
	for i, name := range []string{"stdout", "stderr"} {
		s, err := newLogStream(name, where, cred)
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		s.event, s.bufs, s.file.log = event, bufs, log
		c.streams[i] = s
		s.begin()
	}
	for _, s := range c.streams {
		go s.run(log) // until close; a write that hangs may keep it for longer
	}
	return c, nil
}

// writers are what the application gets for its outputs.
func (c *logCollector) writers() [2]*os.File {
	return [2]*os.File{c.streams[0].out, c.streams[1].out}
}

// drain returns when all that has been said is written, or has taken too long.
func (c *logCollector) drain() {
	ctx, done := context.WithTimeout(context.Background(), drainWithin)
	go func() { // nobody waits for it where a disk hangs
		defer done()
		for _, s := range c.streams {
			s.drain()
		}
	}()
	<-ctx.Done()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		c.log.Warn("the task's last words are not in its log yet", "waited", drainWithin)
	}
}

func (c *logCollector) close() error {
	var errs []error
	for _, s := range c.streams {
		if s != nil {
			errs = append(errs, s.close())
		}
	}
	return errors.Join(errs...)
}
