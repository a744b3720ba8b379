// Command doze puts idle Nomad job groups to sleep and wakes them on request. Each verb
// has a file of its own; run `doze` for their list. Started by a Nomad agent it serves the
// task driver; started by the driver it is the shepherd of one task.
package main

import (
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/cli"

	"doze/driver"
	_ "doze/driver/shepherd/entry" // started as a shepherd, this program is none of the rest
)

// version is set by the linker; see GNUmakefile.
var version = "dev"

// The exit statuses of every verb but probe, whose statuses are its verdicts.
const (
	exitOK      = 0
	exitRuntime = 1
	exitUsage   = 2
)

// terminal is what a verb may touch of the world around it.
type terminal struct {
	stdout, stderr io.Writer
	env            func(string) (string, bool)
}

func main() {
	if driver.IsPlugin() {
		os.Exit(driver.Main(buildVersion()))
	}
	os.Exit(run(os.Args[1:], terminal{os.Stdout, os.Stderr, os.LookupEnv}))
}

// run is main with its surroundings given, for tests.
func run(args []string, term terminal) int {
	c := &cli.CLI{
		Name:        "doze",
		Args:        meant(args),
		Commands:    commands(term),
		HelpFunc:    cli.BasicHelpFunc("doze"),
		HelpWriter:  term.stdout,
		ErrorWriter: term.stderr,
	}
	if err := known(c.Args, c.Commands); err != nil {
		return exitStatus(term, err)
	}
	status, err := c.Run()
	if err != nil {
		complain(term, err)
		return exitRuntime
	}
	if status == cli.RunResultHelp || status == noVerb {
		return exitUsage
	}
	return status
}

// noVerb is what the library answers to no verb at all.
const noVerb = 127

// meant turns what other programs take for the version or for help into what this one does.
func meant(args []string) []string {
	switch {
	case len(args) == 1 && (args[0] == "-version" || args[0] == "--version"):
		return []string{"version"}
	case len(args) > 0 && args[0] == "help":
		return append(slices.Clone(args[1:]), "-help")
	}
	return args
}

// known returns an error for a verb that there is not.
func known(args []string, verbs map[string]cli.CommandFactory) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || verbs[args[0]] != nil {
		return nil
	}
	return usagef("there is no command %q%s (`doze -help` lists them)", args[0],
		didYouMean(args[0], slices.Sorted(maps.Keys(verbs))))
}

func commands(term terminal) map[string]cli.CommandFactory {
	verbs := map[string]verb{
		"app":     appVerb(),
		"check":   checkVerb(),
		"demo":    demoVerb(),
		"events":  eventsVerb(),
		"lease":   leaseVerb(),
		"probe":   probeVerb(),
		"serve":   serveVerb(),
		"sleep":   sleepVerb(),
		"status":  statusVerb(),
		"tasks":   tasksVerb(),
		"version": versionVerb(),
		"wake":    wakeVerb(),
	}
	factories := make(map[string]cli.CommandFactory, len(verbs))
	for name, v := range verbs {
		factories[name] = func() (cli.Command, error) {
			return &command{name: name, verb: v, term: term}, nil
		}
	}
	return factories
}
