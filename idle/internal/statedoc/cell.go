// Package statedoc drives idle.Machine through every event in every state and renders what
// it does as docs/states.md. It decides nothing; the tests of package idle compare its
// cells with the table that is stated by hand.
package statedoc

import (
	"fmt"
	"strings"

	"doze/idle"
)

// Cell is what one event does in one state.
type Cell struct {
	Scene string       // the state, with its kind of being in it
	State idle.State   // of the scene
	Event string       // what happened
	Path  []idle.State // the states passed through; empty: no change
	Does  []string     // the effects, without reports
}

// String returns the cell's outcome in one line.
func (c Cell) String() string {
	if len(c.Path)+len(c.Does) == 0 {
		return "nothing"
	}
	var parts []string
	if len(c.Path) > 0 {
		parts = append(parts, "→ "+joined(c.Path))
	}
	if len(c.Does) > 0 {
		parts = append(parts, strings.Join(c.Does, ", "))
	}
	return strings.Join(parts, ": ")
}

func joined(path []idle.State) string {
	words := make([]string, len(path))
	for i, s := range path {
		words[i] = s.String()
	}
	return strings.Join(words, " → ")
}

// Cells returns the whole table, in a stable order.
func Cells() []Cell {
	var cells []Cell
	for i := range scenes() {
		for _, c := range cues() {
			cells = append(cells, play(scenes()[i], c))
		}
	}
	return cells
}

// play lets one thing happen in a scene of its own, and answers what the machine awaits.
func play(s *scene, c cue) Cell {
	cell := Cell{Scene: s.name, State: s.m.State(), Event: c.name}
	ev := c.event(s)
	ev.Activity = c.activity(s)
	for more := true; more; {
		effects := s.m.Step(s.now, ev)
		cell.add(effects)
		more = false
		for _, e := range effects {
			if answer, awaited := c.answerTo(e.Kind, s); awaited {
				ev, more = answer, true
			}
		}
	}
	return cell
}

func (c *Cell) add(effects []idle.Effect) {
	for _, e := range effects {
		switch e.Kind {
		case idle.Report:
			c.Path = append(c.Path, e.Transition.To)
		case idle.CallSleep:
			c.Does = append(c.Does, fmt.Sprintf("%s (%s)", e.Kind, e.Depth))
		default:
			c.Does = append(c.Does, e.Kind.String())
		}
	}
}
