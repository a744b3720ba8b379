package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"doze/api/wire"
	"doze/driver"
	"doze/driver/shepherd"
	"doze/idle"
)

// tasksWithin bounds what is asked of one shepherd, but for orders.
const tasksWithin = 5 * time.Second

func tasksVerb() verb {
	return verb{
		synopsis: "Show a node's tasks that sleep in place, or order them about",
		usage: "[options] [wake|freeze|park TASK]\n\n" +
			"  On a Nomad client, as root: lists the tasks of the doze driver there, and what\n" +
			"  they are doing. With an order: has one wake, freeze or park, and waits until it\n" +
			"  has. TASK is the beginning of its allocation's id, with /NAME where that has\n" +
			"  several tasks. Asks neither Nomad nor `doze serve`.",
		prepare: prepareTasks,
	}
}

func prepareTasks(s *settings) action {
	dir := s.flags.String("state-dir", driver.DefaultStateDir,
		"`path` of the driver's state_dir")
	asJSON := s.flags.Bool("json", false, "print JSON")
	wait := s.flags.Duration("wait", time.Minute, "`time` to wait for an order to be carried out")
	return func(ctx context.Context, term terminal, args []string) error {
		if len(args) != 0 && len(args) != 2 {
			return usagef("give no arguments, or an order and a TASK; `doze tasks -help` tells")
		}
		tasks, err := nodeTasks(ctx, *dir)
		switch {
		case err != nil:
			return err
		case len(args) == 2:
			ctx, cancel := context.WithTimeout(ctx, *wait)
			defer cancel()
			return order(ctx, tasks, args[0], args[1])
		case *asJSON:
			return json.NewEncoder(term.stdout).Encode(statuses(tasks))
		}
		return listTasks(term, tasks, time.Now())
	}
}

// nodeTask is a task of this node, as its shepherd tells.
type nodeTask struct {
	shepherd.Status
	memory   uint64 // bytes; 0: not known
	shepherd *shepherd.Client
}

// name is what Nomad calls it: the allocation's id and the task's name.
func (t nodeTask) name() string {
	parts := strings.Split(t.TaskID, "/")
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// nodeTasks asks all shepherds below dir. Those that have gone are left out: the driver
// tells Nomad of them.
func nodeTasks(ctx context.Context, dir string) ([]nodeTask, error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no %s: the driver has not run on this machine since it "+
			"booted, or has another state_dir (-state-dir)", dir)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("cannot read %s: run this as root", dir)
	case err != nil:
		return nil, fmt.Errorf("cannot read the state directory: %w", err)
	}
	var tasks []nodeTask
	for _, entry := range entries {
		t, err := askShepherd(ctx, filepath.Join(dir, entry.Name()))
		if errors.Is(err, shepherd.ErrGone) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot ask the shepherd in %s: %w", entry.Name(), err)
		}
		tasks = append(tasks, t)
	}
	slices.SortFunc(tasks, func(a, b nodeTask) int { return strings.Compare(a.name(), b.name()) })
	return tasks, nil
}

func askShepherd(ctx context.Context, dir string) (nodeTask, error) {
	ctx, cancel := context.WithTimeout(ctx, tasksWithin)
	defer cancel()
	t := nodeTask{shepherd: shepherd.At(dir)}
	var err error
	if t.Status, err = t.shepherd.Status(ctx); err != nil {
		return nodeTask{}, err
	}
	if stats, err := t.shepherd.Stats(ctx); err == nil { // one that has ended has none
		t.memory = stats.Memory.Usage
	}
	return t, nil
}

func statuses(tasks []nodeTask) []shepherd.Status {
	all := make([]shepherd.Status, 0, len(tasks)) // not null
	for _, t := range tasks {
		all = append(all, t.Status)
	}
	return all
}

func listTasks(term terminal, tasks []nodeTask, now time.Time) error {
	if len(tasks) == 0 {
		say(term.stdout, "No task of the doze driver is on this node.\n")
		return nil
	}
	table := tabwriter.NewWriter(term.stdout, 0, 0, 2, ' ', 0)
	say(table, "TASK\tSTATE\tFOR\tIN FLIGHT\tWAKES\tMEMORY\tLISTENS AT\n")
	for _, t := range tasks {
		say(table, "%s\t%s\t%s\t%d\t%d\t%s\t%s\n", t.name(), t.doing(), since(now, wire.Time{Time: t.Since}),
			t.InFlight, t.Wakes, mebibytes(t.memory), dash(t.Listen))
	}
	return table.Flush()
}

// doing is the task's state in a word or two.
func (t nodeTask) doing() string {
	switch {
	case t.Exit != nil:
		return t.Exit.String()
	case t.State == idle.Asleep && t.Depth == idle.Freeze:
		return "frozen"
	case t.State == idle.Asleep:
		return "parked"
	}
	return t.State.String()
}

func mebibytes(n uint64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// order has one task do what is asked of it.
func order(ctx context.Context, tasks []nodeTask, what, which string) error {
	t, err := oneTask(tasks, which)
	if err != nil {
		return err
	}
	switch what {
	case "wake":
		err = t.shepherd.Wake(ctx)
	case "freeze":
		err = t.shepherd.Sleep(ctx, idle.Freeze)
	case "park":
		err = t.shepherd.Sleep(ctx, idle.Park)
	default:
		return usagef("unknown order %q: use wake, freeze or park", what)
	}
	if err != nil {
		return fmt.Errorf("cannot %s %s: %w", what, t.name(), err)
	}
	return nil
}

// oneTask finds the task that a name means.
func oneTask(tasks []nodeTask, which string) (nodeTask, error) {
	alloc, name, named := strings.Cut(which, "/")
	var found []nodeTask
	for _, t := range tasks {
		its, _, _ := strings.Cut(t.name(), "/")
		if strings.HasPrefix(its, alloc) && (!named || t.name() == its+"/"+name) {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 0:
		return nodeTask{}, fmt.Errorf("no task %q of the doze driver is on this node; `doze tasks` "+
			"lists them", which)
	case 1:
		return found[0], nil
	}
	var names []string
	for _, t := range found {
		names = append(names, t.name())
	}
	return nodeTask{}, usagef("%q may be any of %s", which, strings.Join(names, ", "))
}
