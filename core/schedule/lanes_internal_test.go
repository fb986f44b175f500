package schedule

import (
	"testing"
	"testing/synctest"
)

// IN-08: a wake-up that comes while a runner lets go is seen by it, or by its successor.
func TestWakeAroundRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lanes := NewLanes()
		again := make(chan struct{}, 1)
		lanes.served[Lane{Room: "room"}] = again
		lanes.WakeRoom("room") // before it lets go
		if lanes.release(t.Context(), Lane{Room: "room"}, again) {
			t.Error("a runner left although it was asked to look again")
		}
		if !lanes.release(t.Context(), Lane{Room: "room"}, again) {
			t.Error("a runner stays for nothing")
		}
		lanes.WakeRoom("room") // after
		if _, ok := lanes.woken[Lane{Room: "room"}]; !ok || len(lanes.signal) != 1 {
			t.Error("a wake-up after the runner left is lost")
		}
	})
}
