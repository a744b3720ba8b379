package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// verb is one subcommand: what it is for, its flags, and what it does.
type verb struct {
	synopsis string
	usage    string // the line after "Usage: doze NAME", and any further paragraphs
	// prepare declares the flags and returns what runs once they are parsed.
	prepare func(*settings) action
}

// action runs a verb. The arguments are what is left after the flags.
type action func(ctx context.Context, term terminal, args []string) error

// command adapts a verb to the CLI library.
type command struct {
	name string
	verb verb
	term terminal
}

func (c *command) Synopsis() string { return c.verb.synopsis }

func (c *command) Help() string {
	s := newSettings(c.name, c.term.env)
	c.verb.prepare(s)
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: doze %s %s\n", c.name, strings.TrimSpace(c.verb.usage))
	if flags := s.describe(); flags != "" {
		b.WriteString("\nOptions:\n\n" + flags)
	}
	return strings.TrimRight(b.String(), "\n")
}

func (c *command) Run(args []string) int {
	s := newSettings(c.name, c.term.env)
	do := c.verb.prepare(s)
	rest, err := s.load(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(c.term.stdout, c.Help())
		return exitOK
	}
	if err == nil {
		// SIGINT and SIGTERM end the context; `doze serve` watches for a second one.
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = do(ctx, c.term, rest)
	}
	status := exitStatus(c.term, err)
	if status == exitUsage && s.usageStatus != 0 && isUsage(err) {
		return s.usageStatus
	}
	return status
}

func isUsage(err error) bool {
	_, ok := errors.AsType[*usageError](err)
	return ok
}

// usageError is a mistake in flags, arguments or configuration. It may join several.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// statusError carries an exit status of its own; the verb has printed all there is to say.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// exitStatus is the one place that maps errors to exit statuses.
func exitStatus(term terminal, err error) int {
	if err == nil {
		return exitOK
	}
	if status, ok := errors.AsType[statusError](err); ok {
		return int(status)
	}
	complain(term, err)
	if isUsage(err) {
		return exitUsage
	}
	return exitRuntime
}

// complain prints an error, each of several joined ones on a line of its own.
func complain(term terminal, err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintf(term.stderr, "doze: %s\n", line)
	}
}

// noArgs refuses arguments that a verb has no use for.
func noArgs(args []string) error {
	if len(args) > 0 {
		return usagef("unexpected argument %q: this verb takes flags only", args[0])
	}
	return nil
}

// say writes to a terminal; an error there (a closed pipe) has nobody left to be told.
func say(w io.Writer, format string, args ...any) {
	fmt.Fprintf(w, format, args...)
}
