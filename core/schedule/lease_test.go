package schedule

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// DI-01: a lease that was renewed too late had a gap, whatever it is now.
func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Lease
		if l.Unbroken(l.Gap()) {
			t.Error("a lease that was never renewed holds")
		}
		l.Renewed(time.Now().Add(15 * time.Second))
		since := l.Gap()
		for range 4 {
			time.Sleep(5 * time.Second)
			l.Renewed(time.Now().Add(15 * time.Second))
		}
		if !l.Unbroken(since) {
			t.Error("heartbeats in time left a gap")
		}
		time.Sleep(14 * time.Second)
		if l.Unbroken(since) {
			t.Error("a lease that ends within a second still holds")
		}
		l.Renewed(time.Now().Add(15 * time.Second))
		if l.Unbroken(since) || !l.Unbroken(l.Gap()) {
			t.Error("a gap is forgotten, or counts without end")
		}
	})
}

// A process that pauses while the journal confirms what it holds asks once more.
func TestLeaseConfirm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Lease
		asked := 0
		answers := func(after ...time.Duration) func() error {
			return func() error {
				asked++
				time.Sleep(after[asked-1])
				return nil
			}
		}
		confirm := func(since int, ask func() error) (int, error) {
			asked = 0
			return l.Confirm(since, ask)
		}
		l.Renewed(time.Now().Add(15 * time.Second))
		if since, err := confirm(l.Gap(), answers()); since != l.Gap() || err != nil || asked != 0 {
			t.Errorf("while the heartbeats follow each other: gap %d, %v, asked %d times", since, err, asked)
		}
		time.Sleep(20 * time.Second)
		if since, err := confirm(l.Gap(), answers(30*time.Second, 2*time.Second, time.Millisecond)); since != l.Gap() || err != nil || asked != 3 {
			t.Errorf("after a pause: gap %d, %v, asked %d times", since, err, asked)
		}
		before := l.Gap()
		l.Renewed(time.Now().Add(15 * time.Second))
		if since, err := confirm(before, answers(2*time.Second)); since != l.Gap() || err != nil || asked != 1 {
			t.Errorf("with heartbeats again: gap %d, %v, asked %d times", since, err, asked)
		}
		lost := errors.New("lost")
		if since, err := l.Confirm(before, func() error { return lost }); since != before || err != lost {
			t.Errorf("lost: gap %d, %v; want %d and %v", since, err, before, lost)
		}
	})
}
