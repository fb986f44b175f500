package replicas

import (
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"parley/core/chat"
	"parley/progressive"
)

// roomState is a room whose turns come one after the other: the process that started a turn last is the only one that writes.
type roomState struct {
	turn  chat.ResponseID // under way; 0 is none
	epoch chat.Epoch
	waits uint64          // turns that are parked or were, as bits
	last  chat.ResponseID // the latest that ended with something to show
	ended chat.ResponseID // the latest that ended
}

// lookup asks which turn's answer stands last.
type lookup struct{ last chat.ResponseID }

// linear checks that the effects in a room have an order in which each was made by the process that then held the turn, and that the
// latest response stands at the end.
func (w *simulation) linear(r *room) []string {
	ops := w.operations(r)
	result, info := porcupine.CheckOperationsVerbose(roomModel(), ops, time.Minute)
	if result == porcupine.Ok {
		return nil
	}
	wrong := []string{fmt.Sprintf("I5: the effects in %s are not linearizable: %s", r.id, result)}
	if longest := longest(info); longest < len(ops) {
		slices.SortStableFunc(ops, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
		for _, op := range ops[max(0, longest-6):min(len(ops), longest+4)] {
			wrong = append(wrong, fmt.Sprintf("    %8.3f to %8.3f %v", time.Duration(op.Call).Seconds(), time.Duration(op.Return).Seconds(), op.Input))
		}
	}
	return wrong
}

// longest returns how many operations the longest order has that is right.
func longest(info porcupine.LinearizationInfo) (n int) {
	for _, all := range info.PartialLinearizations() {
		for _, one := range all {
			n = max(n, len(one))
		}
	}
	return n
}

func (w *simulation) operations(r *room) (ops []porcupine.Operation) {
	last := w.lastShown(r)
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	clients := map[string]int{}
	for _, e := range w.log.all {
		if e.room != r.id {
			continue
		}
		if e.what == finished && e.shows { // one that was sent as often as can be, and lost, stands nowhere
			e.shows = len(w.platform.shown(r.id, e.turn)) > 0
		}
		if clients[e.by] == 0 {
			clients[e.by] = len(clients) + 1
		}
		ops = append(ops, porcupine.Operation{ClientId: clients[e.by], Input: e, Call: int64(e.from.Sub(w.began)), Return: int64(e.to.Sub(w.began))})
	}
	if r.place.Connector == web {
		return ops
	}
	now := int64(time.Since(w.began))
	return append(ops, porcupine.Operation{Input: lookup{last}, Call: now, Return: now + 1})
}

// settled returns the messages in a room, without those of answers that have waited for a person: others can have come meanwhile.
func (w *simulation) settled(r *room) []post {
	waited := w.log.waited(r.id)
	return w.platform.visible(func(m post) bool { return m.room == r.id && !waited[m.turn] })
}

// lastShown returns the turn of the last message in a room.
func (w *simulation) lastShown(r *room) (last chat.ResponseID) {
	for _, m := range w.settled(r) {
		last = m.turn
	}
	return last
}

func roomModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return roomState{} },
		Step: func(state, input, _ any) (bool, any) {
			s := state.(roomState)
			if l, ok := input.(lookup); ok {
				return l.last >= s.last, s // one that was withdrawn can have left a preview
			}
			ok := s.apply(input.(event))
			return ok, s
		},
	}
}

// apply does what an event does, and reports whether it can happen.
func (s *roomState) apply(e event) bool {
	holds, bit := s.turn == e.turn && s.epoch == e.epoch, uint64(1)<<e.turn
	switch e.what {
	case started:
		if s.turn != 0 && s.turn != e.turn || e.turn <= s.ended && s.waits&bit == 0 || s.turn == e.turn && e.epoch <= s.epoch {
			return false
		}
		s.turn, s.epoch = e.turn, e.epoch
		return true
	case finished:
		if e.epoch == 0 { // stopped before it was started
			if e.turn == s.turn {
				return false
			}
			return true
		}
		if holds {
			s.turn, s.ended = 0, max(s.ended, e.turn)
			if e.shows && s.waits&bit == 0 {
				s.last = e.turn
			}
		}
		return holds
	case parked:
		if holds {
			s.turn, s.waits = 0, s.waits|bit
		}
		return holds
	}
	return holds || e.op == progressive.Typing
}
