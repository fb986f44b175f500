package web

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors/connectortest"
	"parley/core/chat"
	"parley/internal/require"
)

// Replicas that make the day's key at the same moment agree on one: a visitor's limit would otherwise count apart in each.
func TestReplicasAgreeOnTheAddressKey(t *testing.T) {
	const replicas = 3
	m := &connectortest.FirstReads{}
	m.Readers.Add(replicas)
	names := make([]chat.EntityID, replicas)
	var work sync.WaitGroup
	for i := range replicas {
		work.Go(func() {
			k := &addressKey{memo: m, zone: time.UTC}
			for range 2 { // the key that was stored, and the one that is in memory
				name, err := k.name(t.Context(), "203.0.113.9/32")
				if err != nil || names[i] != "" && name != names[i] {
					t.Errorf("the name is %q, %v; before it was %q", name, err, names[i])
				}
				names[i] = name
			}
		})
	}
	work.Wait()
	for _, name := range names {
		if name != names[0] || name == "" {
			t.Fatalf("the replicas have the names %q for one visitor", names)
		}
	}
}

// A replica whose clock is behind uses the key of the next day, instead of replacing it.
func TestAddressKeyOfAClockAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &connectortest.Memory{}
		name := func(k *addressKey) chat.EntityID {
			t.Helper()
			id := require.Value(k.name(t.Context(), "203.0.113.9/32"))(t)
			return id
		}
		// The bubble begins at midnight UTC: one replica is ten minutes ahead of that, the other ten behind.
		ahead := &addressKey{memo: m, zone: time.FixedZone("ahead", 10*60)}
		behind := &addressKey{memo: m, zone: time.FixedZone("behind", -10*60)}
		first := name(ahead)
		if now := name(behind); now != first {
			t.Errorf("the clock that is behind makes the name %s from %s", now, first)
		}
		time.Sleep(time.Hour)
		if a, b := name(ahead), name(behind); a != first || b != first {
			t.Errorf("an hour later the names are %s and %s", a, b)
		}
		time.Sleep(23*time.Hour - 10*time.Minute) // the next day has begun where the clock is ahead
		if next := name(ahead); next == first || name(&addressKey{memo: m, zone: behind.zone}) != next {
			t.Errorf("on the next day the names are %s and %s", next, name(&addressKey{memo: m, zone: behind.zone}))
		}
	})
}

// A key of a day far ahead, from a clock that was wrong once, is replaced: else it would be used for years.
func TestAddressKeyOfAWrongClock(t *testing.T) {
	m := &connectortest.Memory{}
	require.NoError(t, m.Keep(t.Context(), addressKeyName, "2999-01-01 old"))
	if _, err := (&addressKey{memo: m, zone: time.UTC}).name(t.Context(), "203.0.113.9/32"); err != nil {
		t.Fatal(err)
	}
	if kept, err := m.Kept(t.Context(), addressKeyName); err != nil || strings.Contains(kept, "old") {
		t.Errorf("stored is %q, %v", kept, err)
	}
}

// restless is a store in which another gateway replaces what was read, each time.
type restless struct {
	connectortest.Memory
	n int
}

func (m *restless) Swap(ctx context.Context, name, _, _ string) (bool, error) {
	m.n++
	return false, m.Keep(ctx, name, fmt.Sprintf("2999-01-01 %d", m.n))
}

// Two gateways with clocks that are days apart end in an error for the operator, not in a loop.
func TestAddressKeyThatIsAlwaysReplaced(t *testing.T) {
	m := &restless{}
	if id, err := (&addressKey{memo: m, zone: time.UTC}).name(t.Context(), "203.0.113.9/32"); id != "" || err == nil || !strings.Contains(err.Error(), "compare the clocks") || m.n > keyAttempts {
		t.Errorf("the name is %q, %v after %d attempts", id, err, m.n)
	}
}

// A key that can't be stored is not used.
func TestAddressKeyThatIsNotStored(t *testing.T) {
	broken := errors.New("disk on fire")
	m := &unwritable{err: broken}
	if id, err := (&addressKey{memo: m, zone: time.UTC}).name(t.Context(), "203.0.113.9/32"); id != "" || !errors.Is(err, broken) {
		t.Errorf("the name is %q, %v", id, err)
	}
}

type unwritable struct {
	connectortest.Memory
	err error
}

func (m *unwritable) Swap(context.Context, string, string, string) (bool, error) { return false, m.err }
