package nearest

import (
	"slices"
	"testing"
)

func TestNames(t *testing.T) {
	known := []string{"model", "models", "mode", "token", "x", "Provider"}
	for _, c := range []struct {
		wrong  string
		within int
		want   []string
	}{
		{"model", 0, []string{"model"}},
		{"modl", 2, []string{"model", "mode", "models"}},
		{"MODELS", 0, []string{"models"}},
		{"provider", 0, []string{"Provider"}},
		{"tkoen", 2, []string{"token"}},
		{"tkoen", 1, nil},
		{"y", 2, nil}, // nothing would be left of x
		{"", 2, nil},
		{"entirely different", 4, nil},
	} {
		if got := Names(c.wrong, known, c.within); !slices.Equal(got, c.want) {
			t.Errorf("Names(%q, within %d) = %q, want %q", c.wrong, c.within, got, c.want)
		}
	}
}

// The distance is symmetric, 0 only for equal texts, and never longer than the longer text.
func FuzzDistance(f *testing.F) {
	f.Add("kitten", "sitting")
	f.Add("", "a")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > 100 || len(b) > 100 {
			return // no name
		}
		d := distance(a, b)
		if d != distance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) || d < len(a)-len(b) {
			t.Errorf("distance(%q, %q) = %d", a, b, d)
		}
	})
}
