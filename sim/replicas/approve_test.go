package replicas

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/lang"
)

const buys = "BUY" // the action that needs an approval

// bought is the name in the ledger of a call of it: its run, a hash of the arguments that were asked about, and its size, which is 1, or the other one
// of an approver who has changed it.
func bought(run chat.RunID, arguments string, size int) string {
	return fmt.Sprintf("%s/%s %d", run, arguments, size)
}

// decision is a change of an approval in the store.
type decision struct {
	from, to chat.Decision
	by       chat.EntityID
	at       time.Time
}

func (h *history) decided(id string, d decision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made[id] = append(h.made[id], d)
}

// waited returns the turns of a room that have waited for a person.
func (h *history) waited(room chat.RoomID) map[chat.ResponseID]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[chat.ResponseID]bool{}
	for _, e := range h.all {
		if e.what == parked && e.room == room {
			all[e.turn] = true
		}
	}
	return all
}

// press is a decision that someone wants.
type press struct {
	approval string
	by       chat.EntityID
	to       chat.Decision
	at       time.Time
}

// open returns the messages with buttons in a room.
func (c *platform) open(room chat.RoomID) []post {
	return c.visible(func(m post) bool { return m.room == room && m.offer != nil && m.offer.Chosen == 0 })
}

// approve answers the cards in the room: now or too late, once or twice, at the same time as the other approver; and someone else presses, too.
func (r *room) approve(ctx context.Context) {
	r.say(ctx)                 // so that there is a direct chat
	drawn := map[string]bool{} // the cards about which the approver has made up their mind: some are left, and must close by themselves
	for range 30 {
		time.Sleep(time.Duration(r.luck.Int64N(int64(10 * time.Second))))
		cards := slices.DeleteFunc(r.w.platform.open(r.id), func(m post) bool { return drawn[m.offer.ID] })
		if len(cards) == 0 {
			continue
		}
		card := cards[r.luck.IntN(len(cards))]
		drawn[card.offer.ID] = true
		late := time.Duration(r.luck.Int64N(int64(2 * waits)))
		switch r.luck.IntN(8) {
		case 0:
			if acc := r.deliver(ctx, chat.Choice{Question: card.offer.ID, Room: r.id, Author: "eve"}); acc.Refused == "" {
				r.w.log.report("approval: %s was answered by another person: %+v", card.id, acc)
			}
		case 1:
		case 2:
			in, p := r.choice(card.offer.ID, r.luck.IntN(4))
			r.again.Go(func() {
				time.Sleep(late)
				r.press(ctx, in, p)
			})
		default:
			in, p := r.choice(card.offer.ID, r.luck.IntN(4))
			if r.luck.IntN(3) == 0 {
				r.again.Go(func() { r.press(ctx, in, p) })
			}
			for _, o := range r.w.rooms {
				if other := o.question(p.approval); o.author != asker && o != r && other != "" && r.luck.IntN(3) == 0 {
					in, p := o.choice(other, r.luck.IntN(4))
					r.again.Go(func() { o.press(ctx, in, p) })
				}
			}
			r.press(ctx, in, p)
		}
	}
}

// question returns the question of a card in the room about an approval.
func (r *room) question(approval string) string {
	for _, m := range r.w.platform.open(r.id) {
		if q, err := r.w.store.Question(context.Background(), m.offer.ID); err == nil && q.Payload == approval {
			return q.ID
		}
	}
	return ""
}

// choice returns an answer to a question of the room: an approval, one with another size, or a denial.
func (r *room) choice(id string, what int) (chat.Inbound, press) {
	q, _ := r.w.store.Question(context.Background(), id)
	p := press{q.Payload, r.author, chat.Approved, time.Now()}
	c := chat.Choice{Question: id, Room: r.id, Author: r.author, Name: string(r.author)}
	switch what {
	case 0:
		p.to, c.Option = chat.Denied, max(0, len(q.Options)-1)
	case 1:
		if q.Edit != nil {
			p.to, c.Words = chat.Amended, "Edit: "+strings.Replace(string(q.Edit.Arguments), `"size":1`, `"size":9`, 1)
		}
	}
	return c, p
}

func (r *room) press(ctx context.Context, in chat.Inbound, p press) {
	p.at = time.Now()
	r.w.mu.Lock()
	r.w.presses = append(r.w.presses, p)
	r.w.mu.Unlock()
	acc := r.deliver(ctx, in)
	r.w.note(nil, "%s wants %s to be %s: %q", p.by, p.approval, p.to, acc.Refused)
}

func (h *history) report(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wrong = append(h.wrong, fmt.Sprintf(format, args...))
}

// judge reports the approvals of a room whose calls were not made as it was decided first.
func (w *simulation) judge(r *room) (wrong []string) {
	all, err := w.store.RecentApprovals(context.Background(), r.id, 1000)
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	for _, a := range all {
		report := func(format string, args ...any) {
			wrong = append(wrong, fmt.Sprintf("approval: "+format+": %+v, decided as %v", append(args, a, w.log.made[a.ID])...))
		}
		run, _ := w.store.Run(context.Background(), a.Run)
		said, _ := w.store.Memory(context.Background(), run.Said())
		asIs, changed := w.ledger.times[bought(a.Run, a.Arguments, 1)], w.ledger.times[bought(a.Run, a.Arguments, 9)]
		made := w.log.made[a.ID]
		if asIs+changed > 1 {
			report("its call was made %d times", asIs+changed)
		}
		for i, d := range made {
			pressed := slices.ContainsFunc(w.presses, func(p press) bool {
				return p.approval == a.ID && p.by == d.by && p.to == d.to && !p.at.After(d.at)
			})
			switch {
			case i == 0 && d.by != "" && !pressed:
				report("%s has not decided that", d.by)
			case i > 0 && (d.from != made[i-1].to || d.by != made[i-1].by || d.to != chat.Used && d.to != chat.Lapsed && d.to != chat.Stopped):
				report("it was decided again")
			}
		}
		if at := slices.IndexFunc(made, func(d decision) bool { return d.by != "" }); at >= 0 && (at == len(made)-1 || made[at+1].at.After(a.Expires)) && !asksLater(all, a) && w.log.sleeps(run, made[at].at, a.Expires) {
			report("its run did not continue before the end of its time, decided after %v", made[at].at.Sub(w.began))
		}
		switch {
		case a.Decision == chat.Pending && w.log.ended(run).Before(a.Expires):
			report("it is still open")
		case a.Decision == chat.Used && changed > 0 != (made[0].to == chat.Amended) && asIs+changed > 0:
			report("its call was not the one that was approved")
		case a.Decision == chat.Used && run.Outcome.Status == answer.Completed && asIs+changed > 0 != strings.Contains(said.Text, "done it") && !strings.Contains(said.Text, "the connection was lost"):
			report("its call was made %d times, and the asker reads %q", asIs+changed, said.Text)
		case (a.Decision == chat.Approved || a.Decision == chat.Amended) && run.Outcome.Status == answer.Completed && !(r.steers() && len(run.Inputs) > 1): // a later message can have replaced the call
			report("its run has completed without the call")
		case a.Decision != chat.Used && a.Decision != chat.Lapsed && asIs+changed > 0:
			report("its call was made")
		}
	}
	return wrong
}

// asksLater reports whether the run of a has asked for another approval since, and waits for that one: a later message has changed the call.
func asksLater(all []chat.Approval, a chat.Approval) bool {
	return slices.ContainsFunc(all, func(o chat.Approval) bool { return o.Run == a.Run && o.At.After(a.At) })
}

const oversleeps = 15 // times that a process looks for work, every five seconds: each minute it also looks for lost wake-ups

// sleeps reports whether a run still waited after a decision, and until its time was over, though a process has looked for work several times
// while no other run had the room.
func (h *history) sleeps(run chat.Run, decided, until time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	waits, free := false, 0 // free counts how often the process that did so most has looked
	looked, busy := map[string]int{}, map[chat.ResponseID]bool{}
	for _, e := range h.all {
		switch mine := e.room == run.Room && e.turn == run.Response; {
		case !e.to.Before(until):
			return waits && free >= oversleeps
		case e.what == looks && waits && len(busy) == 0 && e.to.After(decided):
			looked[e.by]++
			free = max(free, looked[e.by])
		case e.room != run.Room:
		case e.what == started:
			busy[e.turn] = true
			waits = waits && !mine
		case e.what == finished, e.what == parked:
			delete(busy, e.turn)
			waits = waits || mine && e.what == parked
		}
		if !waits {
			free = 0
			clear(looked)
		}
	}
	return false
}

// ended returns when a run has ended.
func (h *history) ended(run chat.Run) (at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.all {
		if e.what == finished && e.room == run.Room && e.turn == run.Response {
			at = e.to
		}
	}
	return at
}

// solid returns text without spaces: a long one is cut there.
func solid(text string) string { return strings.Join(strings.Fields(text), "") }

// closed reports cards that do not show the decision at the end.
func (r *room) closed(runs []chat.Run) (wrong []string) {
	for _, run := range runs {
		q, err := r.w.store.QuestionOf(context.Background(), run.ID)
		if err != nil || q.Run != run.ID {
			continue
		}
		a, _ := r.w.store.Approval(context.Background(), q.Payload)
		want := []string{"→ " + string(a.By), "→ **"}
		for _, key := range []string{"expired", "later", "over"} { // it can be closed before it is decided
			want = append(want, lang.Voice{}.Say("approval."+key))
		}
		result, _ := r.w.store.Run(context.Background(), q.ResultRun)
		card := r.w.platform.visible(func(m post) bool {
			return m.room == r.id && (m.turn == run.Response || m.turn == result.Response)
		})
		doubts := r.w.log.doubts[run.ID] + r.w.log.doubts[result.ID] + r.w.log.late(run) + r.w.log.late(result)
		open := slices.ContainsFunc(card, func(m post) bool { return m.offer != nil && m.offer.Chosen == 0 })
		text := solid(joinPosts(card))
		shows := slices.ContainsFunc(want, func(s string) bool { return strings.Contains(text, solid(s)) })
		if len(card) > 0 && doubts == 0 && (open || !shows) {
			wrong = append(wrong, fmt.Sprintf("approval: the card of run %s ends as %q, open is %v; decided is %+v", run.ID, text, open, a))
		}
	}
	return wrong
}
