package schedule

import (
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
