package shepherd

import (
	"context"
	"os"
	"time"

	"doze/idle"
)

// port is how a task's listening socket is held. awake and asleep are called by turns, with
// the process about to run or standing still.
type port interface {
	// serve holds the port until ctx ends or close is called.
	serve(ctx context.Context) error
	// give returns what the application is started with.
	give() (portGift, error)
	awake() error
	asleep() error
	// keepOut has newcomers wait, unseen, until letIn: the application is about to end.
	keepOut() error
	letIn() error
	// settle lets what the shepherd itself has begun with the application come to its end, and
	// passes nothing on to one that is about to be frozen.
	settle(ctx context.Context, depth idle.Depth)
	// activity is use that idle.Group.Acquire has not seen; see idle.GroupConfig.Activity.
	activity() (inFlight int64, last time.Time, known bool)
	// busy reports whether somebody waits for the application who has not been counted.
	busy() bool
	open() int64 // connections that are open
	addr() string
	close()
}

// portGift is what an application needs to listen.
type portGift struct {
	port int      // to listen on, 0: none
	addr string   // where it can be reached and probed then
	file *os.File // the listening socket itself
}

// noPort belongs to a task that does not listen: nothing but a command wakes it.
type noPort struct{}

func (noPort) serve(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
func (noPort) give() (portGift, error) { return portGift{addr: "process:0"}, nil }
func (noPort) awake() error            { return nil }
func (noPort) asleep() error           { return nil }
func (noPort) activity() (int64, time.Time, bool) {
	return 0, time.Time{}, true
}
func (noPort) keepOut() error                     { return nil }
func (noPort) letIn() error                       { return nil }
func (noPort) settle(context.Context, idle.Depth) {}
func (noPort) busy() bool                         { return false }
func (noPort) open() int64                        { return 0 }
func (noPort) addr() string                       { return "" }
func (noPort) close()                             {}
