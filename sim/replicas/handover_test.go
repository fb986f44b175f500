package replicas

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/connectors/connectortest"
	"parley/core/chat"
	"parley/internal/lang"
)

const visitor = "vera" // asks for a person

// remoteMemo is the store of the conversations with persons, as one process reaches it.
type remoteMemo struct {
	of *connectortest.Memory
	p  *process
}

func (m remoteMemo) Kept(ctx context.Context, name string) (string, error) {
	return reach(ctx, m.p, call{port: toStore, name: "kept", of: name, slow: 5 * time.Millisecond}, func() (string, error) { return m.of.Kept(ctx, name) })
}

func (m remoteMemo) Swap(ctx context.Context, name, old, value string) (bool, error) {
	return reach(ctx, m.p, call{toStore, "swap", name, true, 10 * time.Millisecond}, func() (bool, error) { return m.of.Swap(ctx, name, old, value) })
}

// line is a message of the visitor, or of the person who has taken over.
type line struct {
	id           chat.MemoryID
	from, to     *room
	text         string // for the other side
	begun, acked time.Time
}

// found returns when the first message of the room came that contains a text; zero if there is none.
func (r *room) found(text string) time.Time {
	for _, m := range r.w.platform.visible(func(m post) bool { return m.room == r.id && strings.Contains(m.text, text) }) {
		return m.at
	}
	return time.Time{}
}

// pressed presses a button in the room, if there is one.
func (r *room) pressed(ctx context.Context, label string) {
	for _, m := range r.w.platform.open(r.id) {
		if m.offer.Options[0] == label {
			acc := r.deliver(ctx, chat.Choice{Question: m.offer.ID, Room: r.id, Author: r.author, Name: string(r.author)})
			r.w.note(nil, "%s presses %q: %q", r.author, label, acc.Refused)
			return
		}
	}
}

// message returns a message of the author of the room.
func (r *room) message(text string) chat.Message {
	id := chat.MemoryID(fmt.Sprintf("%s/%s", r.id, text))
	return chat.Message{
		Memory: chat.Memory{ID: id, Room: r.id, Author: r.author, Name: string(r.author), Text: text, At: time.Now()}, Place: r.place,
		Address: chat.Address{Connector: r.place.Connector, Room: r.id, ReplyTo: id}, Addressed: true,
	}
}

// write writes a line for the other side.
func (r *room) write(ctx context.Context, to *room) {
	m := r.message(fmt.Sprintf("q%d%03d, I say", len(r.id)+len(r.author), 501+len(r.lines)))
	l := &line{id: m.ID, from: r, to: to, text: "**" + string(r.author) + "**: " + m.Text, begun: time.Now()}
	r.lines = append(r.lines, l)
	r.deliver(ctx, m)
	l.acked = time.Now()
	r.w.note(nil, "%s was accepted", l.id)
	if r.luck.IntN(3) == 0 {
		late := time.Duration(r.luck.Int64N(int64(20 * time.Second)))
		r.again.Go(func() {
			time.Sleep(late)
			r.deliver(ctx, m)
		})
	}
}

// handBack notes that the conversation is about to be handed back.
func (w *simulation) handBack() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.backed.IsZero() {
		w.backed = time.Now()
	}
}

// isBack reports whether the conversation was handed back a while ago.
func (w *simulation) isBack() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.backed.IsZero() && time.Since(w.backed) > 10*time.Second
}

// visit asks the agent, then for a person, writes lines, and asks the agent again when the person has gone.
func (r *room) visit(ctx context.Context) {
	r.say(ctx)
	time.Sleep(time.Duration(r.luck.Int64N(int64(20 * time.Second))))
	r.deliver(ctx, r.message("/person"))
	for time.Since(r.w.began) < length && r.w.desk() == nil {
		time.Sleep(time.Second)
	}
	for r.w.desk() != nil && !r.w.isBack() && time.Since(r.w.began) < length+30*time.Second {
		time.Sleep(time.Duration(r.luck.Int64N(int64(10 * time.Second))))
		r.write(ctx, r.w.desk())
	}
	if r.found(lang.Voice{}.Say("person.returned")).IsZero() {
		r.w.handBack()
		r.deliver(ctx, r.message("/person back"))
	}
	time.Sleep(time.Until(r.w.began.Add(length + 3*time.Minute)))
	r.say(ctx)
}

// desk returns the room of the person who has taken over, or nil.
func (w *simulation) desk() *room {
	begins, _, _ := strings.Cut(lang.Voice{}.Say("person.desk", "user", visitor), ":")
	for _, r := range w.rooms {
		if !r.found(begins).IsZero() {
			return r
		}
	}
	return nil
}

// serve takes the conversation over, unless the other one is faster, writes lines, and hands it back or leaves that to the visitor.
func (r *room) serve(ctx context.Context) {
	r.say(ctx) // so that there is a direct chat
	for time.Since(r.w.began) < length && r.w.desk() == nil {
		time.Sleep(time.Duration(r.luck.Int64N(int64(5 * time.Second))))
		r.pressed(ctx, lang.Voice{}.Say("person.take"))
	}
	if r.w.desk() != r {
		return
	}
	for range 3 + r.luck.IntN(8) {
		time.Sleep(time.Duration(r.luck.Int64N(int64(10 * time.Second))))
		r.write(ctx, r.w.rooms[len(r.w.rooms)-3])
	}
	if r.luck.IntN(3) > 0 {
		r.w.handBack()
		r.pressed(ctx, lang.Voice{}.Say("person.back"))
	}
}

// talked reports lines that did not arrive once, in their order, in the right chat and under the name of their author, or that the agent has answered
// though a person had the conversation.
func (w *simulation) talked(r *room) (wrong []string) {
	report := func(l *line, format string, args ...any) {
		wrong = append(wrong, fmt.Sprintf("person: %s, sent after %v: "+format, append([]any{l.id, l.begun.Sub(w.began)}, args...)...))
	}
	joined := w.rooms[len(w.rooms)-3].found(strings.TrimLeft(lang.Voice{}.Say("person.joined", "person", ""), "*"))
	last, above := chat.ResponseID(0), post{} // of the line before
	for _, l := range r.lines {
		within := !joined.IsZero() && !l.begun.Before(joined) && (w.backed.IsZero() || !l.acked.After(w.backed))
		answered, err := w.store.RunOf(context.Background(), l.id)
		if err == nil && within {
			report(l, "the agent has answered as %+v", answered.Outcome)
		}
		copies := 0
		for _, o := range w.rooms {
			seen := w.platform.visible(func(m post) bool { return m.room == o.id && strings.TrimSpace(m.text) == l.text })
			if o != l.to && len(seen) > 0 {
				report(l, "it is in %s, too: %v", o.id, seen)
				continue
			}
			for _, run := range w.runsOf(o) {
				m := chat.Memory{}
				if len(run.Inputs) > 0 {
					m, _ = w.store.Memory(context.Background(), run.Inputs[0])
				}
				if m.Text != l.text {
					continue
				}
				copies++
				seen := slices.DeleteFunc(slices.Clone(seen), func(m post) bool { return m.turn != run.Response })
				if doubts := w.log.doubts[run.ID] + w.log.late(run); doubts == 0 {
					if len(seen) != 1 || seen[0].at.Before(above.at) {
						report(l, "people see %v, below %v", seen, above)
					}
					above = append(seen, above)[0]
				}
				if run.Response < last {
					report(l, "it is turn %d, after turn %d", run.Response, last)
				}
				last = run.Response
			}
		}
		if copies > 1 || within && copies == 0 || err != nil && copies == 0 {
			report(l, "it was passed on %d times", copies)
		}
	}
	return wrong
}
