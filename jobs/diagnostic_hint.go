package jobs

import (
	"slices"
	"strings"
)

// didYouMean returns a hint that names the known word nearest to got, else all of them.
func didYouMean(got string, known []string) string {
	if best := nearest(got, known); best != "" {
		return "did you mean " + best + "?"
	}
	if len(known) == 0 {
		return ""
	}
	return "known here: " + strings.Join(known, ", ")
}

// nearest returns the known word that is a few typing mistakes from got, or "".
func nearest(got string, known []string) string {
	best, least := "", 1+max(1, len(got)/3)
	for _, k := range known {
		if d := distance(strings.ToLower(got), k); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance counts the letters to insert, drop or replace to get from a to b. Long words
// are far from everything, so that no input makes it slow.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return len(a) + len(b)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = slices.Min([]int{replaced, row[j] + 1, row[j+1] + 1})
		}
	}
	return row[len(b)]
}
