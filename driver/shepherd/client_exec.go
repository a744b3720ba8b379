package shepherd

import (
	"context"
	"errors"
	"io"
	"os"

	"doze/driver/shepherd/frame"
)

// Size is a terminal's, in characters.
type Size struct {
	Width  int `json:"width"`
	Height int `json:"height"`
}

// ExecSpec is a command to run beside the application.
type ExecSpec struct {
	Argv []string    // required; Argv[0] as Spec.Command
	Env  []string    // added to the task's
	TTY  bool        // stdin, stdout and stderr are one terminal; nothing goes to stderr
	Size <-chan Size // changes of the terminal's size; nil or closed: no more
}

// Exec runs a command inside the task: its namespaces, cgroup, user and directory. A
// sleeping task is woken first, and stays awake while it runs. The command is killed when
// ctx ends. nil readers and writers are empty. A stdin that blocks is left behind with its
// goroutine when the command ends first, unless the caller closes it. The error is for what
// could not be started; otherwise Exit has its end.
func (c *Client) Exec(
	ctx context.Context, e ExecSpec, stdin io.Reader, stdout, stderr io.Writer,
) (Exit, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	call, err := frame.Dial(ctx, c.socket(), callExec,
		execParams{Argv: e.Argv, Env: e.Env, TTY: e.TTY})
	if err != nil {
		return Exit{}, translate(err)
	}
	defer call.Close()
	go send(call, stdin) // see above
	go sendSizes(ctx, call, e.Size)
	var exit Exit
	for {
		f, more, err := call.Next(ctx, &exit)
		if err != nil || !more {
			return exit, translate(err)
		}
		if err := write(f, stdout, stderr); err != nil {
			return Exit{}, err
		}
	}
}

func write(f frame.Frame, stdout, stderr io.Writer) error {
	to := stdout
	if f.Kind == frame.Stderr {
		to = stderr
	}
	if to == nil {
		return nil
	}
	_, err := to.Write(f.Content)
	return err
}

// send passes the input on, and its end. The call's end ends it, at its next byte.
func send(call *frame.Client, stdin io.Reader) {
	buf := make([]byte, 32<<10)
	for stdin != nil {
		n, err := stdin.Read(buf)
		if n > 0 && call.Send(frame.Frame{Kind: frame.Stdin, Content: buf[:n]}) != nil {
			return
		}
		if err != nil {
			break
		}
	}
	_ = call.Send(frame.Frame{Kind: frame.Stdin}) // a command that has ended needs no end
}

func sendSizes(ctx context.Context, call *frame.Client, sizes <-chan Size) {
	for {
		select {
		case size, ok := <-sizes:
			if !ok || call.SendMessage(size) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// exists reports whether something is there.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist)
}
