package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/core/llm"
	"parley/internal/lang"
)

// numbers are the counts of one platform.
type numbers struct {
	questions, calls                     int
	lost, half, doubles, setAside, other int // all of them must be 0
	disorder                             int // answers, or parts of one, that stand in the wrong order; must be 0
	unfounded                            int // marks or leftover previews that no request at a kill explains; must be 0
	marked, previews                     int // marked repetitions and leftover previews, on Telegram only
	merged                               int // questions that their author was asked to repeat, because too many waited
	split                                int // answers in several messages
}

// report is the result for all questions.
type report struct {
	kills    []kill
	by       map[string]*numbers
	evidence []string
	info     []string
}

// judge checks every question.
func (w *environment) judge(kills []kill) *report {
	r := &report{kills: kills, by: map[string]*numbers{telegram: {}, discord: {}, web: {}}}
	all := w.views()
	pages, err := w.reload()
	if err != nil {
		r.by[web].lost++
		r.evidence = append(r.evidence, fmt.Sprintf("web: reload: %v", err))
	}
	open := w.underWay(kills)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range append(all, pages...) {
		n := r.by[v.room.platform]
		misplaced := v.misplaced()
		for _, q := range v.questions {
			n.questions++
			n.calls += w.calls[q.id]
			t := &trial{n: n}
			t.count(&n.disorder, b2i(slices.Contains(misplaced, q)), "it stands before the answer to an earlier question")
			t.judge(v, q, open[q.id])
			if len(t.wrong) > 0 {
				r.evidence = append(r.evidence, w.tell(q, v.answers[q.id], kills, t.wrong))
			}
		}
		w.judgeOthers(r, v)
	}
	w.inform(r)
	return r
}

// trial is the judgement of one answer.
type trial struct {
	n     *numbers
	wrong []string // errors and notable observations
}

func (t *trial) count(number *int, times int, what string) {
	if times > 0 {
		*number += times
		t.wrong = append(t.wrong, what)
	}
}

// judge counts the messages of the answer to q. Open are the creates for it that were under way at a kill of their sender.
func (t *trial) judge(v *view, q *question, open []create) {
	s, n := v.answers[q.id], t.n
	whole := s.chain != nil
	gone := !whole && len(s.pieces) == 0
	excused := gone && !s.older && v.excused(q)
	t.count(&n.merged, b2i(excused), "its author was asked to repeat it")
	t.count(&n.lost, b2i(gone && v.missing(q)), "lost")
	t.count(&n.half, b2i(!gone && !whole), "half-written")
	t.count(&n.disorder, b2i(s.disorder), "its parts stand in the wrong order")
	n.split += b2i(len(s.chain) > 1)
	if q.room.platform == web {
		ended := q.read == q.answer || excused && (q.read == "" || q.read == lang.Voice{}.Say("message.excuse")) // the first of those that wait too long shows why
		t.count(&n.lost, b2i(!ended), fmt.Sprintf("the stream ended with %s %s", short(q.read), q.broken))
		t.count(&n.lost, b2i(s.asked == 0 && !s.older), "the question is not on the page")
		t.count(&n.doubles, max(0, s.asked-1), "the question is on the page twice")
	}
	if !whole {
		return
	}
	t.count(&n.doubles, len(s.doubles), "unmarked double")
	if q.room.platform != telegram {
		t.count(&n.doubles, len(s.marked), "marked double")
		t.count(&n.doubles, len(s.previews), "a preview left standing")
		return
	}
	t.judgeLeftovers(s, open)
}

// judgeLeftovers requires that a create of the same part of the answer explains each mark and each preview.
func (t *trial) judgeLeftovers(s *standing, open []create) {
	t.count(&t.n.marked, len(s.marked), "marked repetition")
	t.count(&t.n.previews, len(s.previews), "a preview left standing")
	left := map[int]int{} // by the first word
	for _, p := range slices.Concat(s.marked, s.previews) {
		left[p.from]++
	}
	for _, c := range open {
		left[c.from]--
	}
	for _, more := range left {
		t.count(&t.n.unfounded, more, "no create was under way at a kill of its sender")
	}
	for _, p := range s.alone() {
		refused := slices.ContainsFunc(open, func(c create) bool { return c.from == p.from && !c.applied })
		t.count(&t.n.unfounded, b2i(!refused), "a mark without a first message")
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// create is a request for a new message with a part of an answer on Telegram, in progress when its sender was killed.
type create struct {
	from    int  // the first word
	applied bool // it took effect; a refused one did not
}

// underWay returns the creates, by question, that were in progress when the replica that sent them was killed. The end of a create
// is the time at which its sender has stored the outcome.
func (w *environment) underWay(kills []kill) map[string][]create {
	w.mu.Lock()
	defer w.mu.Unlock()
	words := map[string][]string{}
	for _, q := range w.questions {
		words[q.id] = strings.Fields(q.answer)
	}
	open, margin := map[string][]create{}, w.o.latency/2+slack
	for _, r := range w.telegram.Log() {
		id := questionID.FindString(r.Params["text"])
		if r.Method != "sendMessage" || words[id] == nil {
			continue
		}
		if slices.ContainsFunc(kills, func(k kill) bool {
			return !k.orderly && w.telegramAt[k.replica] == r.Host && k.ended.After(r.At.Add(-margin)) && k.at.Before(r.Ended.Add(margin))
		}) {
			open[id] = append(open[id], create{pieceOf(words[id], message{text: r.Params["text"]}, 0).from, r.Applied})
		}
	}
	return open
}

// slack is the delay that a loaded machine adds to a request and to storing its outcome.
const slack = 300 * time.Millisecond

// judgeOthers counts the agent's messages that are no answer to a question of the room.
func (w *environment) judgeOthers(r *report, v *view) {
	n := r.by[v.room.platform]
	for _, m := range v.messages {
		switch {
		case v.answers[questionID.FindString(m.text)] != nil, m.text == lang.Voice{}.Say("message.excuse"):
			continue
		case strings.Contains(m.text, llm.SetAside.Sentence(lang.Voice{})):
			n.setAside++
		default:
			n.other++
		}
		r.evidence = append(r.evidence, fmt.Sprintf("%s %s says %s", v.room.platform, v.room.name, short(m.text)))
	}
}
