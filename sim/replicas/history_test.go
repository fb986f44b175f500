package replicas

import (
	"fmt"
	"sync"
	"time"

	"parley/core/chat"
	"parley/progressive"
)

// kind is what an event is.
type kind string

const (
	started   kind = "start"
	finished  kind = "finish"
	parked    kind = "park"
	requested kind = "request" // to the platform, that took effect
	acted     kind = "action"  // that writes
	looks     kind = "look"    // for rooms with work
)

// event is an effect that took place, at a time between from, when a process asked for it, and to.
type event struct {
	from, to time.Time
	by       string // the process
	what     kind
	room     chat.RoomID
	turn     chat.ResponseID
	epoch    chat.Epoch
	op       progressive.Op // of a request
	message  string         // likewise
	control  bool           // likewise: the result of a choice
	shows    bool           // of a finish: something was said
}

// lane returns the room, or the part of it whose requests come one after the other.
func (e event) lane() string { return fmt.Sprint(e.room, e.control) }

func (e event) String() string {
	s := fmt.Sprintf("%s %s %s#%d epoch %d", e.by, e.what, e.room, e.turn, e.epoch)
	if e.what == requested {
		s += fmt.Sprintf(" %s %s", e.op, e.message)
	}
	return s
}

// history is the log of all effects.
type history struct {
	mu     sync.Mutex
	all    []event
	doubts map[chat.RunID]int      // requests of which a process does not know whether they took effect
	holds  map[[2]string]time.Time // by process and room: it was told to send nothing until then
	wrong  []string
	made   map[string][]decision // by approval
}

func newHistory() *history {
	return &history{doubts: map[chat.RunID]int{}, holds: map[[2]string]time.Time{}, made: map[string][]decision{}}
}

func (h *history) add(e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, e)
}

func (h *history) doubt(run chat.RunID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.doubts[run]++
}

// held notes that the platform has told a process to wait.
func (h *history) held(e event, d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holds[[2]string{e.by, e.lane()}] = time.Now().Add(d)
}

// obeys is I6: a process that was told to wait sends nothing there.
func (h *history) obeys(e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if left := h.holds[[2]string{e.by, e.lane()}].Sub(e.from); left > 0 {
		h.wrong = append(h.wrong, fmt.Sprintf("I6: %v, %v before the hold was over", e, left))
	}
}
