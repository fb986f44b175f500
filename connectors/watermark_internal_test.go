package connectors

import "testing"

// However many events are done behind one that is not, few tickets are kept.
func TestWatermarkIsBounded(t *testing.T) {
	w := &watermark[int]{advanced: make(chan struct{}, 1)}
	stuck := w.begin(0)
	for n := 1; n <= 1000; n += 2 {
		a, b := w.begin(n), w.begin(n+1)
		if n%4 == 1 {
			a, b = b, a
		}
		a.Release()
		b.Release()
		if len(w.open) > 3 {
			t.Fatalf("%d tickets are open; want at most 3", len(w.open))
		}
	}
	stuck.Release()
	if len(w.open) != 0 || w.reached != 1000 {
		t.Errorf("reached %d, and %d tickets are open; want none and 1000", w.reached, len(w.open))
	}
}
