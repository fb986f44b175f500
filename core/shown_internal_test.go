package core

import (
	"slices"
	"testing"

	"parley/core/chat"
)

// The journal gets the whole list: an entry takes the place of that of its part, and a message that is gone leaves it.
func TestWithShown(t *testing.T) {
	before := []chat.Shown{{Part: 0, ID: "m0"}, {Part: 2}}
	for _, c := range []struct {
		s    chat.Shown
		want []chat.Shown
	}{
		{chat.Shown{Part: 1}, []chat.Shown{{Part: 0, ID: "m0"}, {Part: 1}, {Part: 2}}},
		{chat.Shown{Part: 2, ID: "m2"}, []chat.Shown{{Part: 0, ID: "m0"}, {Part: 2, ID: "m2"}}},
		{chat.Shown{Part: chat.FirstFile}, []chat.Shown{{Part: 0, ID: "m0"}, {Part: 2}, {Part: chat.FirstFile}}},
		{chat.Shown{Part: 0, ID: "m0", Gone: true}, []chat.Shown{{Part: 2}}},
		{chat.Shown{Part: 7, Gone: true}, before},
	} {
		if got := withShown(before, c.s); !slices.Equal(got, c.want) {
			t.Errorf("with %+v: %+v", c.s, got)
		}
	}
	if got := withShown([]chat.Shown{{Part: 0}}, chat.Shown{Gone: true}); got == nil || len(got) > 0 {
		t.Errorf("the last one is gone: %#v, not an empty list", got)
	}
	if !slices.Equal(before, []chat.Shown{{Part: 0, ID: "m0"}, {Part: 2}}) {
		t.Errorf("the list before was changed: %+v", before)
	}
}
