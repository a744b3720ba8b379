package jobs

import "strings"

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

// distance counts the letters to insert, drop, replace or swap with the next to get from a
// to b (optimal string alignment). Long words are far from everything, so that no input
// makes it slow.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return len(a) + len(b)
	}
	var before, row []int // the rows of the two letters before
	next := make([]int, len(b)+1)
	for j := range next {
		next[j] = j
	}
	for i := range len(a) {
		before, row, next = row, next, make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			replaced := row[j]
			if a[i] != b[j] {
				replaced++
			}
			next[j+1] = min(replaced, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
	}
	return next[len(b)]
}
