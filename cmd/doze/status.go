package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"doze/api/wire"
)

func statusVerb() verb {
	return verb{
		synopsis: "Show the groups and what they are doing",
		usage: "[options] [GROUP]\n\n" +
			"  Without GROUP: all groups. With one (job, job/group or namespace/job/group):\n" +
			"  its state, its targets, and why it is awake or asleep.",
		prepare: func(s *settings) action { return clientVerb(s, status) },
	}
}

func status(ctx context.Context, c *apiClient, args []string) error {
	if len(args) == 0 {
		return statusAll(ctx, c)
	}
	id, err := c.oneGroup(ctx, args)
	if err != nil {
		return err
	}
	var detail wire.GroupDetail
	if err := c.call(ctx, http.MethodGet, id.Path(), &detail); err != nil {
		return err
	}
	if c.json {
		return c.print(detail)
	}
	return statusOne(c, detail, time.Now())
}

func statusAll(ctx context.Context, c *apiClient) error {
	list, err := c.groups(ctx)
	if err != nil {
		return err
	}
	if c.json {
		return c.print(list)
	}
	if len(list.Groups) == 0 {
		say(c.term.stdout, "No group has opted in. A group does so with a block\n"+
			"scaling { policy { doze { … } } }; see `doze check -help`.\n")
	}
	now := time.Now()
	table := tabwriter.NewWriter(c.term.stdout, 0, 0, 2, ' ', 0)
	if len(list.Groups) > 0 {
		say(table, "GROUP\tSTATE\tFOR\tIN FLIGHT\tSLEEPS IN\tWAKES\tLAST WAKE\n")
	}
	for _, g := range list.Groups {
		say(table, "%s\t%s\t%s\t%d\t%s\t%d\t%s\n", g.ID, g.State, since(now, g.Since),
			g.InFlight, until(now, g.SleepsAt), g.Wakes, wakeText(g.LastWake))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return diagnosticsBelow(ctx, c)
}

// diagnosticsBelow prints what is wrong with jobs that wanted to opt in.
func diagnosticsBelow(ctx context.Context, c *apiClient) error {
	var list wire.DiagnosticList
	if err := c.call(ctx, http.MethodGet, wire.DiagnosticsPath, &list); err != nil {
		return err
	}
	for i, d := range list.Diagnostics {
		if i == 0 {
			say(c.term.stdout, "\nLeft alone until mended:\n")
		}
		say(c.term.stdout, "  %s\n", diagnosticText(d))
	}
	return nil
}

func diagnosticText(d wire.Diagnostic) string {
	text := d.Namespace + "/" + d.Job
	if d.Path != "" {
		text += ": " + d.Path
	} else if d.Group != "" {
		text += "/" + d.Group
	}
	text += ": " + d.Problem
	if d.Hint != "" {
		text += " (" + d.Hint + ")"
	}
	return text
}

func statusOne(c *apiClient, d wire.GroupDetail, now time.Time) error {
	table := tabwriter.NewWriter(c.term.stdout, 0, 0, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" && value != "-" {
			say(table, "%s\t%s\n", name, value)
		}
	}
	row("Group", d.ID.String())
	row("State", fmt.Sprintf("%s for %s", d.State, since(now, d.Since)))
	row("Why", d.Why)
	row("In flight", fmt.Sprint(d.InFlight))
	row("Sleeps in", until(now, d.SleepsAt))
	row("May wake in", until(now, d.RetryAt))
	row("Wakes", fmt.Sprint(d.Wakes))
	row("Last wake", wakeText(d.LastWake))
	row("Error", d.Error)
	for _, lease := range d.Leases {
		row("Kept awake", fmt.Sprintf("by %q for %s more", lease.Name, until(now, lease.Until)))
	}
	for _, target := range d.Targets {
		row("Target", targetText(target))
	}
	for _, problem := range d.Diagnostics {
		row("Diagnostic", diagnosticText(problem))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return historyBelow(c, d.History)
}

func targetText(t wire.Target) string {
	text := fmt.Sprintf("%s (%s): %s", t.Addr, t.ID, t.Verdict)
	if !t.Admitted {
		text += ", gets no requests"
	}
	if t.Error != "" {
		text += ": " + t.Error
	}
	return text
}

func historyBelow(c *apiClient, history []wire.Transition) error {
	if len(history) == 0 {
		return nil
	}
	say(c.term.stdout, "\nHistory:\n")
	table := tabwriter.NewWriter(c.term.stdout, 0, 0, 2, ' ', 0)
	for _, t := range history {
		say(table, "  %s\t%s → %s\t%s\n", clockText(t.At), t.From, t.To, causeText(t))
	}
	return table.Flush()
}

func causeText(t wire.Transition) string {
	if t.Error != "" {
		return t.Cause + ": " + t.Error
	}
	return t.Cause
}

// wakeText tells of a wake in one line: how long, and where the time went.
func wakeText(w *wire.Wake) string {
	if w == nil {
		return "-"
	}
	var phases []string
	for _, p := range w.Phases {
		phases = append(phases, p.Name+" "+short(time.Duration(p.Took)))
	}
	text := short(time.Duration(w.Took))
	if len(phases) > 0 {
		text += " (" + strings.Join(phases, ", ") + ")"
	}
	if w.Error != "" {
		text = "failed after " + text
	}
	return text
}

func clockText(t wire.Time) string { return t.Local().Format("15:04:05.000") }

func since(now time.Time, t wire.Time) string {
	if t.IsZero() {
		return "-"
	}
	return short(now.Sub(t.Time))
}

func until(now time.Time, t wire.Time) string {
	if t.IsZero() {
		return "-"
	}
	return short(max(0, t.Sub(now)))
}

// short rounds a duration to what a person reads: three digits or so.
func short(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	case d < 10*time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
