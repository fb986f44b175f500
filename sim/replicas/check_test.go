package replicas

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/schedule"
	"parley/internal/lang"
	"parley/progressive/progressivetest"
	"parley/sim"
)

// check returns one line for each violation of the invariants.
func (w *simulation) check() (wrong []string) {
	runs := map[chat.RoomID][]chat.Run{}
	e := sim.Evidence{Stored: func(id chat.MemoryID) (chat.Memory, bool) {
		m, err := w.store.Memory(context.Background(), id)
		return m, err == nil
	}}
	for _, r := range w.rooms {
		runs[r.id] = w.runsOf(r)
		e.Runs = append(e.Runs, runs[r.id]...)
		for _, s := range r.sent {
			e.Accepted = append(e.Accepted, s.id)
		}
	}
	wrong = append(e.Check(), w.log.wrong...)
	for _, r := range w.rooms {
		wrong = append(wrong, r.repeated()...)
		wrong = append(wrong, r.numbered()...)
		switch {
		case r.author == asker:
		case w.talks:
			wrong = append(wrong, w.talked(r)...)
		default:
			wrong = append(wrong, r.closed(runs[r.id])...)
		}
		for i, run := range runs[r.id] {
			wrong = append(wrong, r.excused(run, i == len(runs[r.id])-1)...)
			said, _ := e.Stored(run.Said())
			if r.author != asker {
				continue
			}
			wrong = append(wrong, r.answers(run, said.Text)...)
			if r.place.Connector != web {
				wrong = append(wrong, w.shows(run, said.Text)...)
			}
		}
		if r.author != asker {
			continue
		}
		wrong = append(wrong, w.judge(r)...)
		wrong = append(wrong, r.readRight(e.Stored)...)
		wrong = append(wrong, w.ordered(r)...)
		wrong = append(wrong, w.linear(r)...)
	}
	for id, n := range w.ledger.times {
		if n > 1 {
			wrong = append(wrong, fmt.Sprintf("an action wrote %d times for %s", n, id))
		}
	}
	return wrong
}

// runsOf returns the runs of a room, in turn order.
func (w *simulation) runsOf(r *room) (all []chat.Run) {
	for i := range 100 {
		if run, err := w.store.Run(context.Background(), chat.RunID(fmt.Sprintf("%s#%d", r.id, i))); err == nil {
			all = append(all, run)
		}
	}
	return all
}

// repeated is the part of I1 for what arrives again.
func (r *room) repeated() (wrong []string) {
	for _, s := range r.sent {
		for _, acc := range s.again {
			if !acc.Duplicate || acc.Run != s.acc.Run && !r.steers() { // it may have joined another run since
				wrong = append(wrong, fmt.Sprintf("I1: %s was accepted as %+v, and later as %+v", s.id, s.acc, acc))
			}
		}
	}
	return wrong
}

// numbered reports messages with a smaller turn than an earlier one.
func (r *room) numbered() (wrong []string) {
	var last chat.ResponseID
	for _, s := range r.sent {
		if r.steers() && s.acc.Duplicate { // it has joined an earlier turn before its acknowledgment arrived
			continue
		}
		if s.acc.Response < last || s.acc.Run == "" {
			wrong = append(wrong, fmt.Sprintf("%s, which is a later one, was accepted as %+v after turn %d", s.id, s.acc, last))
		}
		last = s.acc.Response
	}
	return wrong
}

// excused is I2: a run that did not complete has a reason for that.
func (r *room) excused(run chat.Run, last bool) []string {
	o := run.Outcome
	q, _ := r.w.store.QuestionOf(context.Background(), run.ID)
	switch {
	case o.Status == answer.Ignored && run.Kind == chat.RunChoiceResult && q.ResultRun == run.ID && q.By == "": // it was withdrawn before its message was sent
		return nil
	case o.Status == answer.Completed, o.Status == answer.Ignored && run.Kind == chat.RunNotify: // a card that was decided before it was sent
		return nil
	case o.Status == answer.Superseded && (!last || r.steers() && len(run.Inputs) == 0): // its messages may have joined the run before
		return nil
	case o.Status == answer.Stopped && r.author == visitor: // by the person who took over
		return nil
	case o.Status == answer.Stopped && slices.ContainsFunc(r.stops, func(at time.Time) bool { return !at.Before(run.Opened) }):
		return nil
	case o.Failure == llm.SetAside && (run.Blamed >= 3 || run.Deaths >= 12 || run.Attempts >= 6):
		return nil
	case o.Status == answer.Failed && run.Acting != "": // it may have happened, and is not repeated
		return nil
	}
	return []string{fmt.Sprintf("I2: run %s ended as %+v, deaths %d, attempts %d", run.ID, o, run.Deaths, run.Attempts)}
}

// steers reports whether messages join the run in progress.
func (r *room) steers() bool { return r.w.policy == schedule.Steer && r.place.Kind != chat.Group }

// answers reports a completed run that does not answer its last message: the model names it.
func (r *room) answers(run chat.Run, said string) []string {
	if run.Outcome.Status != answer.Completed || len(run.Inputs) == 0 || run.Acting != "" {
		return nil
	}
	last := question.FindString(string(run.Inputs[len(run.Inputs)-1]))
	if strings.Contains(said, "Answer to "+last) {
		return nil
	}
	return []string{fmt.Sprintf("I1: run %s does not answer %s, but says %q", run.ID, last, said)}
}

var mark = "_(" + lang.Voice{}.Say("steer.included") + ")_"

// unmarked returns the words of a text without the marks of joined messages, which are not stored.
func unmarked(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, mark, "")), " ")
}

// shows is I2, I3 and I8 for what people see of a run at the end.
func (w *simulation) shows(run chat.Run, said string) (wrong []string) {
	said, unconfirmed := strings.CutSuffix(said, "\n\n"+answer.Unconfirmed)
	if unconfirmed && w.log.doubts[run.ID] == 0 {
		wrong = append(wrong, fmt.Sprintf("I3: run %s is stored as unconfirmed, and the fate of each of its messages is known", run.ID))
	}
	if run.Outcome.Interrupted() && said != "" {
		said += fmt.Sprintf(" [%s]", run.Outcome.Status)
	}
	var want []string
	if !run.Outcome.Withdrawn {
		want = progressivetest.Split(said, maxLength)
	}
	seen := w.platform.shown(run.Room, run.Response)
	doubts := w.log.doubts[run.ID]
	late := w.log.late(run)
	joinedAndLost := w.policy == schedule.Steer && len(run.Inputs) > 1 && slices.ContainsFunc(run.Shown, lostTwice) // the mark can be in the lost message
	if all := joinPosts(seen); strings.Contains(all, mark) || joinedAndLost {                                       // it moves the ends of messages
		if doubts == 0 && late == 0 && unmarked(all) != unmarked(said) {
			wrong = append(wrong, fmt.Sprintf("I3: run %s (%+v) shows %q, stored is %q", run.ID, run.Outcome, all, said))
		}
		return wrong
	}
	uncertain := func(m post) bool { return doubts > 0 && (m.nonce == "" || w.log.outlivedNonces(run)) }
	next := 0
	skip := func(to int) {
		for next < to && sentTwice(run, next) {
			next++
		}
	}
	for _, m := range seen {
		bare, marked := strings.CutSuffix(m.text, "\n\n"+lang.Voice{}.Say("message.repeated"))
		at := slices.Index(want, bare)
		skip(at)
		switch {
		case at >= 0 && !marked && at == next:
			next++
		case at >= 0 && marked && uncertain(m):
			next = max(next, at+1)
		case at < 0 && uncertain(m): // a preview whose id no process learned
		case late > 0:
		default:
			wrong = append(wrong, fmt.Sprintf("I3: run %s (%+v) left %s, %q by %s, after %d doubts; stored are %q", run.ID, run.Outcome, m.id, m.text, m.by, doubts, want))
		}
	}
	skip(len(want))
	if next < len(want) && late == 0 {
		wrong = append(wrong, fmt.Sprintf("I3: run %s (%+v) shows %v, stored are %q", run.ID, run.Outcome, seen, want))
	}
	return wrong
}

func joinPosts(all []post) string {
	var texts []string
	for _, m := range all {
		texts = append(texts, m.text)
	}
	return strings.Join(texts, " ")
}

// sentTwice reports whether the journal holds that a part was sent as often as a last word of unknown fate can be: it can then be lost.
func sentTwice(run chat.Run, part int) bool {
	return slices.ContainsFunc(run.Shown, func(s chat.Shown) bool { return s.Part == part && lostTwice(s) })
}

func lostTwice(s chat.Shown) bool { return s.ID == "" && s.Tries == 2 }

// outlivedNonces reports whether a request of a run came so late that the nonces of its first ones were not good any more.
func (h *history) outlivedNonces(run chat.Run) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.all, func(e event) bool {
		return e.what == requested && e.room == run.Room && e.turn == run.Response && e.to.Sub(run.Opened) >= nonceWindow
	})
}

// late counts requests of a run that were on their way when another process took it over.
func (h *history) late(run chat.Run) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.all {
		if e.what != requested || e.room != run.Room || e.turn != run.Response {
			continue
		}
		if slices.ContainsFunc(h.all, func(s event) bool {
			return s.what == started && s.room == e.room && s.turn == e.turn && s.epoch > e.epoch && s.by != e.by && e.to.After(s.to)
		}) {
			n++
		}
	}
	return n
}

// readRight is I3 for the visitors of the web page.
func (r *room) readRight(stored func(chat.MemoryID) (chat.Memory, bool)) (wrong []string) {
	if r.place.Connector != web {
		return nil
	}
	for _, s := range r.sent {
		said, _ := stored(chat.Run{ID: s.acc.Run}.Said())
		if s.sawErr != nil || unmarked(s.saw.Text()) != unmarked(said.Text) && !s.saw.Outcome.Withdrawn {
			wrong = append(wrong, fmt.Sprintf("I3: who asked %s saw %q (%+v), %v; stored is %q", s.id, s.saw.Text(), s.saw.Outcome, s.sawErr, said.Text))
		}
	}
	return wrong
}

// ordered is I8 across the turns of a room: what belongs to a later turn stands below.
func (w *simulation) ordered(r *room) (wrong []string) {
	var last chat.ResponseID
	for _, m := range w.settled(r) {
		if m.turn < last {
			wrong = append(wrong, fmt.Sprintf("I8: %s, of turn %d, stands below turn %d in %s: %q", m.id, m.turn, last, r.id, m.text))
		}
		last = max(last, m.turn)
	}
	return wrong
}
