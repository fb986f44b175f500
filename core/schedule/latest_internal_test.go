package schedule

import (
	"testing"

	"parley/core/chat"
)

// An undecided run claims no room, and waits like the others.
func TestLatest(t *testing.T) {
	undecided := func(n chat.ResponseID) chat.Run { return chat.Run{Response: n, Kind: chat.RunDecide} }
	decided := func(n chat.ResponseID) chat.Run { return chat.Run{Response: n} }
	for _, c := range []struct {
		open []chat.Run
		want chat.ResponseID
	}{
		{[]chat.Run{undecided(1)}, 0}, {[]chat.Run{decided(1), undecided(2)}, 1}, {[]chat.Run{undecided(1), decided(2), undecided(3)}, 2},
	} {
		if got := Latest(c.open).Response; got != c.want {
			t.Errorf("%+v: %d; want %d", c.open, got, c.want)
		}
	}
}
