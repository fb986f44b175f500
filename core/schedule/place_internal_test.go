package schedule

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"parley/core/chat"
)

// At any time, the places that are taken are those of the runs that have entered, wait for no person and have not left, each once. No
// lane waits while there is room for it, and a lane that is woken enters.
func TestPlacesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most, total := rapid.IntRange(1, 3).Draw(t, "most"), rapid.IntRange(1, 4).Draw(t, "total")
		w := &lanes{T: t, held: map[int]*held{}, people: map[int]chat.EntityID{}}
		w.p = NewParallel(most, total, func(l Lane) { w.woken = append(w.woken, l) })
		t.Repeat(map[string]func(*rapid.T){
			"enter":  w.begin,
			"forget": w.forget,
			"pause": func(t *rapid.T) {
				if h := w.held[pick(t, w.held)]; h != nil {
					h.pauses++
					h.Pause()
				}
			},
			"resume": func(t *rapid.T) {
				if h := w.held[pick(t, w.held)]; h != nil && h.pauses > 0 {
					h.pauses--
					h.Resume()
				}
			},
			"leave": func(t *rapid.T) {
				if n := pick(t, w.held); w.held[n] != nil {
					w.left = append(w.left, w.held[n].Place)
					w.held[n].Leave()
					delete(w.held, n)
				}
			},
			"after the end": func(*rapid.T) {
				for _, p := range w.left {
					p.Pause()
					p.Resume()
					p.Leave()
				}
			},
			"": func(*rapid.T) { w.check(most, total) },
		})
	})
}

// lanes are runs of two people, by their numbers.
type lanes struct {
	*rapid.T
	p      *Parallel
	n      int
	held   map[int]*held
	left   []*Place
	people map[int]chat.EntityID // of those that wait
	woken  []Lane
}

// held is a place with the waits that are open.
type held struct {
	*Place
	pauses int
}

// pick returns a key of all, or 0.
func pick[V any](t *rapid.T, all map[int]V) int {
	if len(all) == 0 {
		return 0
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(all))).Draw(t, "which")
}

func laneOf(n int) Lane { return Lane{Room: chat.RoomID(strconv.Itoa(n))} }

func (w *lanes) begin(t *rapid.T) {
	w.n++
	w.people[w.n] = chat.EntityID(rapid.SampledFrom([]string{"ada", "bob"}).Draw(t, "person"))
	w.enter(w.n)
}

func (w *lanes) forget(t *rapid.T) {
	if n := pick(t, w.people); n > 0 {
		delete(w.people, n)
		w.p.Forget(laneOf(n), "")
	}
}

func (w *lanes) enter(n int) {
	run := chat.Run{Opened: time.Unix(int64(n), 0), Address: chat.Address{BilledTo: w.people[n]}}
	if p, ok := w.p.Enter(laneOf(n), run); ok {
		delete(w.people, n)
		w.held[n] = &held{Place: p}
	}
}

func (w *lanes) check(most, total int) {
	for len(w.woken) > 0 {
		n, _ := strconv.Atoi(string(w.woken[0].Room))
		w.woken = w.woken[1:]
		if w.people[n] != "" {
			w.enter(n)
		}
	}
	taken, of := 0, map[chat.EntityID]int{}
	for _, h := range w.held {
		if h.pauses == 0 {
			taken++
			of[h.person]++
		}
	}
	if w.p.under != taken {
		w.Fatalf("%d places are taken; want %d", w.p.under, taken)
	}
	for _, who := range []chat.EntityID{"ada", "bob"} {
		counted := 0
		if q := w.p.people[who]; q != nil {
			counted = len(q.under)
		}
		if counted != of[who] {
			w.Fatalf("%s has %d places; want %d", who, counted, of[who])
		}
	}
	for n, who := range w.people {
		if taken < total && of[who] < most {
			w.Fatalf("%d waits though %d of %d and %d of %d places are taken", n, taken, total, of[who], most)
		}
	}
}
