// Package nearest finds the names that a misspelled one was probably meant to be, for error messages.
package nearest

import (
	"slices"
	"strings"
)

// Names returns up to three of known that are at most within letters away from wrong, the nearest first. A letter that
// is changed, added or missing counts as one; case doesn't count. A name that shares no letter is not near.
func Names(wrong string, known []string, within int) (near []string) {
	distances := map[string]int{}
	for _, name := range known {
		if d := distance(strings.ToLower(wrong), strings.ToLower(name)); d <= within && d < len(name) {
			distances[name] = d
			near = append(near, name)
		}
	}
	slices.SortStableFunc(near, func(a, b string) int { return distances[a] - distances[b] })
	return near[:min(3, len(near))]
}

// distance returns the Levenshtein distance between a and b, by bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
