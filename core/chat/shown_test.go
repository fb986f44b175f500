package chat

import (
	"slices"
	"testing"
)

// The journal gets the whole list: an entry takes the place of that of its part, and a message that is gone leaves it.
func TestWithShown(t *testing.T) {
	before := []Shown{{Part: 0, ID: "m0"}, {Part: 2}}
	for _, c := range []struct {
		s    Shown
		want []Shown
	}{
		{Shown{Part: 1}, []Shown{{Part: 0, ID: "m0"}, {Part: 1}, {Part: 2}}},
		{Shown{Part: 2, ID: "m2"}, []Shown{{Part: 0, ID: "m0"}, {Part: 2, ID: "m2"}}},
		{Shown{Part: FirstFile}, []Shown{{Part: 0, ID: "m0"}, {Part: 2}, {Part: FirstFile}}},
		{Shown{Part: 0, ID: "m0", Gone: true}, []Shown{{Part: 2}}},
		{Shown{Part: 7, Gone: true}, before},
	} {
		if got := WithShown(before, c.s); !slices.Equal(got, c.want) {
			t.Errorf("with %+v: %+v; want %+v", c.s, got, c.want)
		}
	}
	if got := WithShown([]Shown{{Part: 0}}, Shown{Gone: true}); got == nil || len(got) > 0 {
		t.Errorf("the last one is gone: %#v, not an empty list", got)
	}
	if !slices.Equal(before, []Shown{{Part: 0, ID: "m0"}, {Part: 2}}) {
		t.Errorf("the list before was changed: %+v", before)
	}
}
