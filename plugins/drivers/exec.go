package drivers

import (
	"context"
	"io"
)

// Executor runs commands inside a task: for `nomad alloc exec` and for script
// checks.
type Executor interface {
	// Exec runs a command in the task and returns when it has ended; an error
	// says that it could not be run. It ends the command when ctx does: the
	// caller has hung up, or a script check's time is over.
	Exec(ctx context.Context, id string, s Session) (ExitResult, error)
}

// Session is one command to run. The streams are usable until Exec returns; all
// may be used concurrently.
type Session struct {
	Command []string
	TTY     bool // give it a terminal; its output then all goes to Stdout
	// Stdin ends when the caller closes it. It is never nil.
	Stdin io.Reader
	// Writing blocks while the caller does not read.
	Stdout, Stderr io.Writer
	// Resize tells the terminal's sizes; only the newest is kept. Never closed.
	Resize <-chan TerminalSize
}

// TerminalSize is the size of a terminal, in characters.
type TerminalSize struct {
	Width, Height int32
}
