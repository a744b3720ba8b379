package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

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
		if *wait <= 0 {
			return usagef("wait %s: must be positive", *wait)
		}
		tasks, err := nodeTasks(ctx, *dir)
		switch {
		case err != nil && len(tasks) == 0:
			return err
		case len(args) == 2:
			ctx, cancel := context.WithTimeout(ctx, *wait)
			defer cancel()
			return order(ctx, tasks, args[0], args[1])
		case *asJSON:
			return errors.Join(err, printJSON(term.stdout, statuses(tasks)))
		}
		return errors.Join(err, listTasks(ctx, term, tasks))
	}
}

// nodeTask is a task of this node, as its shepherd tells.
type nodeTask struct {
	shepherd.Status
	shepherd *shepherd.Client
}

// name is what Nomad calls it: the allocation's id and the task's name.
func (t nodeTask) name() string {
	parts := strings.Split(t.TaskID, "/")
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// nodeTasks asks all shepherds below dir, side by side. Those that have gone are left out: the
// driver tells Nomad of them. Those that do not answer are the error, beside all that do.
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
	asked, errs := make([]*nodeTask, len(entries)), make([]error, len(entries))
	var asking sync.WaitGroup
	for i, entry := range entries {
		asking.Go(func() { asked[i], errs[i] = askShepherd(ctx, filepath.Join(dir, entry.Name())) })
	}
	asking.Wait()
	var tasks []nodeTask
	for _, t := range asked {
		if t != nil {
			tasks = append(tasks, *t)
		}
	}
	slices.SortFunc(tasks, func(a, b nodeTask) int { return strings.Compare(a.name(), b.name()) })
	return tasks, errors.Join(errs...)
}

// askShepherd returns nil for one that has gone.
func askShepherd(ctx context.Context, dir string) (*nodeTask, error) {
	ctx, cancel := context.WithTimeout(ctx, tasksWithin)
	defer cancel()
	c := shepherd.At(dir)
	status, err := c.Status(ctx)
	switch {
	case errors.Is(err, shepherd.ErrGone):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("cannot ask the shepherd in %s: %w", dir, err)
	}
	return &nodeTask{Status: status, shepherd: c}, nil
}

func statuses(tasks []nodeTask) []shepherd.Status {
	all := make([]shepherd.Status, 0, len(tasks)) // not null
	for _, t := range tasks {
		all = append(all, t.Status)
	}
	return all
}

func listTasks(ctx context.Context, term terminal, tasks []nodeTask) error {
	if len(tasks) == 0 {
		say(term.stdout, "No task of the doze driver is on this node.\n")
		return nil
	}
	table := tabwriter.NewWriter(term.stdout, 0, 0, 2, ' ', 0)
	say(table, "TASK\tSTATE\tFOR\tIN FLIGHT\tWAKES\tMEMORY\tLISTENS AT\n")
	for _, t := range tasks {
		say(table, "%s\t%s\t%s\t%d\t%d\t%s\t%s\n", t.name(), t.doing(), short(time.Since(t.Since)),
			t.InFlight, t.Wakes, t.memory(ctx), cmp.Or(t.Listen, "-"))
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

// memory is what the task's processes take; "-" where that is not known.
func (t nodeTask) memory(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, tasksWithin)
	defer cancel()
	stats, err := t.shepherd.Stats(ctx)
	if err != nil || stats.Memory.Usage == 0 { // one that has ended has none
		return "-"
	}
	return fmt.Sprintf("%.1f MiB", float64(stats.Memory.Usage)/(1<<20))
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
