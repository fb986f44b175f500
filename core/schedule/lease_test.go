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

// A run is confirmed only by an answer that arrives while the lease is valid: without a lease, another process can start the run right
// after the answer.
func TestLeaseConfirm(t *testing.T) {
	for name, c := range map[string]struct {
		gap    bool
		beats  []time.Duration // from the first question on
		takes  []time.Duration // of each answer
		asked  int
		within time.Duration
	}{
		"the heartbeats follow each other": {false, nil, nil, 0, 0},
		"heartbeats again":                 {true, []time.Duration{0}, []time.Duration{time.Millisecond}, 1, time.Millisecond},
		"the lease is over":                {true, []time.Duration{400 * time.Millisecond}, []time.Duration{0, 0}, 2, 400 * time.Millisecond},
		"a beat while it is asked":         {true, []time.Duration{time.Second}, []time.Duration{2 * time.Second, 0}, 2, 2 * time.Second},
		"a pause while it is asked":        {true, []time.Duration{0, 20 * time.Second}, []time.Duration{30 * time.Second, 0}, 2, 30 * time.Second},
		"no beat for seconds":              {true, []time.Duration{2500 * time.Millisecond}, []time.Duration{0, 0, 0, 0}, 4, 2500 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			var l Lease
			asked := 0
			l.Renewed(time.Now().Add(15 * time.Second))
			since := l.Gap()
			if c.gap {
				time.Sleep(20 * time.Second)
			}
			for _, after := range c.beats {
				if after == 0 {
					l.Renewed(time.Now().Add(15 * time.Second))
					continue
				}
				time.AfterFunc(after, func() { l.Renewed(time.Now().Add(15 * time.Second)) })
			}
			begun := time.Now()
			since, err := l.Confirm(since, func() error {
				asked++
				time.Sleep(c.takes[asked-1])
				return nil
			})
			if since != l.Gap() || !l.Live() || err != nil || asked != c.asked || time.Since(begun) != c.within {
				t.Errorf("%s: gap %d of %d, %v, asked %d times in %v; want %d in %v", name, since, l.Gap(), err, asked, time.Since(begun), c.asked, c.within)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		var l Lease
		lost := errors.New("lost")
		if since, err := l.Confirm(0, func() error { return lost }); since != 0 || err != lost {
			t.Errorf("lost: gap %d, %v; want 0 and %v", since, err, lost)
		}
	})
}
