//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// samples are measurements of one thing, in the order in which they were made.
type samples struct {
	unit  string // ms, MiB, k/s, …
	rates bool   // more is better, so that the worst hundredth is the lowest
	of    []float64
}

func (s *samples) add(v float64) { s.of = append(s.of, v) }

// took adds a duration, in milliseconds.
func (s *samples) took(d time.Duration) {
	s.unit = "ms"
	s.add(milliseconds(d))
}

func (s *samples) p50() float64 { return s.rank(0.5) }

// p99 is what 99 of 100 are no worse than; of fewer than some 70 it is the worst.
func (s *samples) p99() float64 {
	if s.rates {
		return s.rank(0.01)
	}
	return s.rank(0.99)
}

func (s *samples) rank(share float64) float64 {
	sorted := slices.Sorted(slices.Values(s.of))
	return sorted[int(share*float64(len(sorted)-1)+0.5)]
}

// against pairs samples that were taken round by round.
func (s *samples) against(other *samples, unit string, f func(mine, theirs float64) float64) *samples {
	out := &samples{unit: unit, rates: s.rates}
	for i := range min(len(s.of), len(other.of)) {
		out.add(f(s.of[i], other.of[i]))
	}
	return out
}

func ratio(mine, theirs float64) float64 { return mine / theirs }
func beyond(mine, base float64) float64  { return mine - base }

// row is a line of the table. Without a goal it is there to be compared with.
type row struct {
	what string
	*samples
	goal  string
	met   func(*samples) bool
	noise *samples // the same without what is measured; nil: there is no such thing
}

func (r row) cells() []string {
	return []string{r.what, fmt.Sprint(len(r.of)), r.show(r.p50()), r.show(r.p99()), r.goal,
		r.verdict()}
}

// verdict does not blame what is measured for what the machine misses without it too.
func (r row) verdict() string {
	switch {
	case r.met == nil:
		return ""
	case r.met(r.samples):
		return "ok"
	case r.noise != nil && !r.met(r.noise):
		return "noise"
	}
	return "MISSED"
}

// show writes a figure with three digits.
func (s *samples) show(v float64) string {
	digits := 0
	switch {
	case v < 10:
		digits = 2
	case v < 100:
		digits = 1
	}
	return fmt.Sprintf("%.*f %s", digits, v, s.unit)
}

// table is what a run of the benchmark prints: Markdown, aligned to be read as it is.
type table struct {
	head  []string // lines about the machine
	parts []part
	notes []string // lines below
}

type part struct {
	title string
	rows  []row
}

func (t *table) add(title string, rows ...row) { t.parts = append(t.parts, part{title, rows}) }

// skip says loudly what is not in the table.
func (t *table) skip(what string) { t.notes = append(t.notes, "SKIPPED: "+what) }

func (t *table) print(w io.Writer) {
	lines := [][]string{nil, nil} // the header, and the rule below it
	for _, p := range t.parts {
		lines = append(lines, []string{"**" + p.title + "**", "", "", "", "", ""})
		for _, r := range p.rows {
			lines = append(lines, r.cells())
		}
	}
	lines[0] = []string{"what", "n", "p50", "p99", "goal", ""}
	widths := make([]int, len(lines[0]))
	for _, cells := range lines {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 2)
		}
	}
	lines[1] = rule(widths)
	var out strings.Builder
	for _, line := range t.head {
		out.WriteString("\n" + line)
	}
	out.WriteString("\n\n")
	for _, cells := range lines {
		out.WriteString(aligned(cells, widths))
	}
	out.WriteString("\n" + strings.Join(t.notes, "\n") + "\n\n")
	fmt.Fprint(w, out.String())
}

// numeric reports whether a column is aligned to the right.
func numeric(column int) bool { return column >= 1 && column <= 3 }

func rule(widths []int) []string {
	var cells []string
	for i, width := range widths {
		cell := strings.Repeat("-", width)
		if numeric(i) {
			cell = cell[1:] + ":"
		}
		cells = append(cells, cell)
	}
	return cells
}

func aligned(cells []string, widths []int) string {
	var line strings.Builder
	for i, cell := range cells {
		gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if numeric(i) {
			cell = gap + cell
		} else {
			cell += gap
		}
		line.WriteString("| " + cell + " ")
	}
	return line.String() + "|\n"
}
