package answer

import "testing"

// Options may be numbers: then what they say goes before where they stand.
func TestNamedOption(t *testing.T) {
	for text, want := range map[string]int{"2": 0, "1": 1, "12": 2, "3": 2, "3)": 2, "@parley 1": 1, "@parley  3.": 2, "4": -1, "@1": -1, "": -1} {
		if i, ok := (Choices{Options: []string{"2", "1", "12"}}).Named(text); ok != (want >= 0) || ok && i != want {
			t.Errorf("%q is %d, %v", text, i, ok)
		}
	}
}
