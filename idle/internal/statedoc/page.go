package statedoc

import (
	"fmt"
	"slices"
	"strings"

	"doze/idle"
)

// Page returns docs/states.md.
func Page() string {
	var b strings.Builder
	b.WriteString(head)
	writeDiagram(&b, Cells())
	b.WriteString(between)
	writeTable(&b, Cells())
	return b.String()
}

const head = `# The states of a group

<!-- Generated from the state machine by go generate ./idle/...; do not edit. -->

A group is in one of six states. Every arrow below is one that the machine takes when it is
driven through every event in every state; nothing is drawn by hand.

`

const between = `
Legend: **hold** and **admit** shut and open the activity word, where every request counts
itself on arrival; **arm**, **update**, **shut** and **close gate** belong to the health
gate, which lets nobody through before a target of the current generation has passed its
probe; **call wake** and **call sleep** ask the workload, one call at a time, and their
answers carry the generation. The policy in the table freezes after a minute, goes to zero
after an hour, drains for five seconds and fails open.

## Every event in every state

What an event does: the states passed through, then the effects in order. Events that are
not listed for a state change nothing there.
`

// writeDiagram draws each arrow once, with the events that take it.
func writeDiagram(b *strings.Builder, cells []Cell) {
	type arrow struct{ from, to idle.State }
	events := make(map[arrow][]string)
	for _, c := range cells {
		from := c.State
		for _, to := range c.Path {
			kind, _, _ := strings.Cut(c.Event, ",")
			if a := (arrow{from, to}); !slices.Contains(events[a], kind) {
				events[a] = append(events[a], kind)
			}
			from = to
		}
	}
	b.WriteString("```mermaid\nstateDiagram-v2\n    [*] --> asleep\n")
	for _, from := range idle.States() {
		for _, to := range idle.States() {
			if names := events[arrow{from, to}]; len(names) > 0 {
				fmt.Fprintf(b, "    %s --> %s: %s\n", from, to, strings.Join(names, ", "))
			}
		}
	}
	b.WriteString("```\n")
}

func writeTable(b *strings.Builder, cells []Cell) {
	scene := ""
	for _, c := range cells {
		if c.Scene != scene {
			scene = c.Scene
			fmt.Fprintf(b, "\n### %s\n\n| event | what it does |\n|---|---|\n", scene)
		}
		if len(c.Path)+len(c.Does) > 0 {
			fmt.Fprintf(b, "| %s | %s |\n", c.Event, c)
		}
	}
}
