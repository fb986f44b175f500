package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/core/llm"
	"parley/core/schedule"
	"parley/progressive"
)

// standing counts the visible messages of one answer.
type standing struct {
	whole, marked, parts int  // messages: the whole answer, the whole answer marked as a repetition, a part of it
	asked                int  // how often the page shows the question
	older                bool // the page is full of newer messages
	texts                []string
}

// stands returns what the platforms show, by question. Messages that belong to no question are under "".
func (w *world) stands() map[string]standing {
	all := map[string]standing{}
	for _, r := range w.rooms {
		if r.own == nil {
			continue
		}
		for _, m := range r.own() {
			w.add(all, m.text)
		}
	}
	return all
}

// add counts one message of the agent.
func (w *world) add(all map[string]standing, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := questionID.FindString(text)
	s := all[id]
	s.texts = append(s.texts, text)
	i := slices.IndexFunc(w.questions, func(q *question) bool { return q.id == id })
	switch bare, marked := strings.CutSuffix(text, "\n\n"+progressive.Repetition); {
	case i < 0:
	case bare != w.questions[i].answer:
		s.parts++
	case marked:
		s.marked++
	default:
		s.whole++
	}
	all[id] = s
}

// reload adds what the pages show after a reload.
func (w *world) reload(all map[string]standing) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, r := range w.rooms {
		if r.platform != web {
			continue
		}
		lines, err := w.browser.Reload(ctx, r.name)
		if err != nil {
			return err
		}
		for _, l := range lines {
			if l.Role == "assistant" {
				w.add(all, l.Text)
			} else if s := all[l.ClientMessageID]; l.ClientMessageID != "" {
				s.asked++
				all[l.ClientMessageID] = s
			}
		}
		if len(lines) >= fullPage {
			w.leaveOut(all, r, time.UnixMilli(lines[0].Timestamp))
		}
	}
	return nil
}

// fullPage is how many messages a page shows at most (docs/web-api.md).
const fullPage = 200

// leaveOut notes which questions of a room are older than what its page shows.
func (w *world) leaveOut(all map[string]standing, r *room, since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.questions {
		if s := all[q.id]; q.room == r && s.asked == 0 && q.asked.Before(since) {
			s.older = true
			all[q.id] = s
		}
	}
}

// numbers are the counts of one platform.
type numbers struct {
	questions, calls                     int
	lost, half, doubles, setAside, other int // all of them must be 0
	unfounded                            int // marks or leftover previews that no request at a kill explains; must be 0
	marked, previews                     int // marked repetitions and leftover previews, on Telegram only
	merged                               int // questions that their author was asked to repeat, because too many waited
}

// report is the result for all questions.
type report struct {
	kills    []time.Time
	by       map[string]*numbers
	evidence []string
	info     []string
}

// judge checks every question.
func (w *world) judge(kills []time.Time) *report {
	r := &report{kills: kills, by: map[string]*numbers{telegram: {}, discord: {}, web: {}}}
	all := w.stands()
	if err := w.reload(all); err != nil {
		r.by[web].lost++
		r.evidence = append(r.evidence, fmt.Sprintf("web: reload: %v", err))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.questions {
		n := r.by[q.room.platform]
		n.questions++
		n.calls += w.calls[q.id]
		if wrong := w.judgeOne(n, q, all[q.id], kills); len(wrong) > 0 {
			r.evidence = append(r.evidence, w.tell(q, all[q.id], kills, wrong))
		}
	}
	w.judgeOthers(r)
	w.inform(r)
	return r
}

// judgeOne counts the messages of one answer, and returns what is wrong or notable.
func (w *world) judgeOne(n *numbers, q *question, s standing, kills []time.Time) (wrong []string) {
	count := func(number *int, times int, what string) {
		if times > 0 {
			*number += times
			wrong = append(wrong, what)
		}
	}
	whole := s.whole + s.marked
	gone := whole+s.parts == 0 && !s.older
	count(&n.merged, b2i(gone && w.excused(q)), "its author was asked to repeat it")
	count(&n.lost, b2i(gone && !w.excused(q)), "lost")
	count(&n.half, b2i(whole == 0 && s.parts > 0), "half-written")
	count(&n.doubles, max(0, s.whole-1), "unmarked double")
	if q.room.platform == web {
		count(&n.lost, b2i(q.read != q.answer), fmt.Sprintf("the stream ended with %q %s", q.read, q.broken))
		count(&n.lost, b2i(s.asked == 0 && !s.older), "the question is not on the page")
		count(&n.doubles, max(0, s.asked-1), "the question is on the page twice")
	}
	if q.room.platform != telegram {
		count(&n.doubles, s.marked, "marked double")
		count(&n.doubles, b2i(whole > 0)*s.parts, "a part left standing")
		return wrong
	}
	count(&n.marked, s.marked, "marked repetition")
	count(&n.unfounded, max(0, s.marked-s.whole), "a mark without a first message")
	if whole > 0 {
		count(&n.previews, s.parts, "a preview left standing")
	}
	open := w.openAt(q, kills)
	count(&n.unfounded, max(0, s.marked+b2i(whole > 0)*s.parts-open), "no create was under way at a kill")
	return wrong
}

// excused reports whether the agent said in the room of q that it can't answer each message.
func (w *world) excused(q *question) bool {
	return q.room.own != nil && slices.ContainsFunc(q.room.own(), func(m message) bool { return m.text == schedule.Excuse })
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// openAt counts the creates for an answer on Telegram that took effect and were in progress when the process was
// killed.
func (w *world) openAt(q *question, kills []time.Time) (n int) {
	half := w.o.latency / 2
	for _, r := range w.telegram.Log() {
		if r.Method != "sendMessage" || !r.Applied || questionID.FindString(r.Params["text"]) != q.id {
			continue
		}
		until := r.Ended.Add(half + slack)
		n += b2i(slices.ContainsFunc(kills, func(k time.Time) bool { return k.After(r.At.Add(-half-slack)) && k.Before(until) }))
	}
	return n
}

// slack is the delay that a loaded machine adds to a request and to storing its outcome.
const slack = 150 * time.Millisecond

// judgeOthers counts the agent's messages that are no answer.
func (w *world) judgeOthers(r *report) {
	for _, room := range w.rooms {
		if room.own == nil {
			continue
		}
		for _, m := range room.own() {
			n := r.by[room.platform]
			switch {
			case questionID.MatchString(m.text), m.text == schedule.Excuse:
				continue
			case strings.Contains(m.text, llm.SetAside.Sentence()):
				n.setAside++
			default:
				n.other++
			}
			r.evidence = append(r.evidence, fmt.Sprintf("%s %s says %q", room.platform, room.name, m.text))
		}
	}
	for _, q := range w.questions {
		if q.room.platform == web && strings.Contains(q.read, llm.SetAside.Sentence()) {
			r.by[web].setAside++
		}
	}
}
