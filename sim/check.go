package sim

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/lang"
)

// Evidence is what a scenario leaves behind, on any platform. Check compares it with the invariants of
// docs/engineering/invariants.md; fields that do not apply stay empty.
type Evidence struct {
	Accepted []chat.MemoryID // acknowledged messages that require an answer
	// Deleted are messages that users deleted afterwards, and the runs that were to answer them.
	Deleted  map[chat.MemoryID]chat.RunID
	Runs     []chat.Run // all runs, as journaled at the end
	Stored   func(chat.MemoryID) (chat.Memory, bool)
	Seen     []Sight   // what users saw, in chronological order
	Work     []Work    // model calls
	Requests []Request // to the platform, in order of their start
	Refused  []string  // requests that a fake refused as malformed, with the reasons
	Leaks    []string  // places where a secret was found
}

// Sight is one state of one answer, as one reader saw it.
type Sight struct {
	At     time.Time
	Reader string // a browser's stream, or the chat itself
	Run    chat.RunID
	Text   string
	Last   bool // the reader was told that the answer is complete
	Gone   bool // the answer was deleted
}

// Work is one model call.
type Work struct {
	Room     chat.RoomID
	From, To time.Time
}

// Request is one request that changed, or tried to change, something in a chat.
type Request struct {
	From, To time.Time
	Scope    string        // the chat whose budget was charged
	Message  string        // empty for a create that failed
	Create   bool          //
	Hold     time.Duration // the request was refused, with a rate limit of this length
}

// Check returns one line for each violation.
func (e Evidence) Check() (wrong []string) {
	for _, rule := range []func(Evidence) []string{
		oneRunEach, oneEndEach, lastWordStored, deletedIsForgotten, nothingAfterTheEnd, oneWriter, oneRunAtATime, holdsObeyed, inOrder,
	} {
		wrong = append(wrong, rule(e)...)
	}
	for _, r := range e.Refused {
		wrong = append(wrong, "I7: a request was refused as malformed: "+r)
	}
	for _, l := range e.Leaks {
		wrong = append(wrong, "I9: a secret is in "+l)
	}
	return wrong
}

// oneRunEach is I1.
func oneRunEach(e Evidence) (wrong []string) {
	runs := map[chat.MemoryID]int{}
	for _, r := range e.Runs {
		for _, in := range r.Inputs {
			runs[in]++
		}
	}
	for _, in := range e.Accepted {
		if _, deleted := e.Deleted[in]; runs[in] != 1 && !deleted {
			wrong = append(wrong, fmt.Sprintf("I1: message %s has %d runs", in, runs[in]))
		}
	}
	return wrong
}

// oneEndEach is I2: each run has ended, with one visible end, the same for all readers.
func oneEndEach(e Evidence) (wrong []string) {
	ends := map[chat.RunID]map[string]bool{}
	readers := map[chat.RunID]bool{}
	for _, s := range e.Seen {
		readers[s.Run] = true
		if s.Last && !s.Gone {
			if ends[s.Run] == nil {
				ends[s.Run] = map[string]bool{}
			}
			ends[s.Run][s.Text] = true
		}
	}
	for _, r := range e.Runs {
		switch o := r.Outcome; {
		case !o.Done():
			wrong = append(wrong, fmt.Sprintf("I2: run %s has not ended", r.ID))
		case len(ends[r.ID]) > 1:
			wrong = append(wrong, fmt.Sprintf("I2: run %s was seen to end in %d ways", r.ID, len(ends[r.ID])))
		case len(ends[r.ID]) == 0 && readers[r.ID] && !o.Withdrawn && o.Status != answer.Ignored:
			wrong = append(wrong, fmt.Sprintf("I2: no reader saw the end of run %s (%s)", r.ID, o.Status))
		}
	}
	return wrong
}

// lastWordStored is I3: the last visible text is the stored one, apart from a notice.
func lastWordStored(e Evidence) (wrong []string) {
	if e.Stored == nil {
		return nil
	}
	for _, s := range e.Seen {
		if !s.Last || s.Gone || s.Text == "" {
			continue
		}
		m, ok := e.Stored(chat.Run{ID: s.Run}.Said())
		if !ok || m.Text != WithoutNotice(s.Text) {
			wrong = append(wrong, fmt.Sprintf("I3: %s saw run %s end with %q, stored is %q", s.Reader, s.Run, s.Text, m.Text))
		}
	}
	return wrong
}

var notice = regexp.MustCompile(`[_*]?(` + regexp.QuoteMeta("("+lang.Voice{}.Say("notice.another_model")+")") + `|` + regexp.QuoteMeta("("+lang.Voice{}.Say("notice.removed_model")+")") + `|` + regexp.QuoteMeta("("+lang.Voice{}.Say("steer.included")+")") + `|\(The usual model .* is not available\. .* answers\.\)|` + answer.CostSign + `.*)[_*]?\n*`)

// WithoutNotice returns a visible text without the notices that another model answered, one was removed, or a message has joined. These are not stored.
func WithoutNotice(text string) string {
	if !notice.MatchString(text) {
		return text
	}
	return strings.TrimRight(notice.ReplaceAllLiteralString(text, ""), "\n") // nothing may follow it
}

// deletedIsForgotten is the part of I3 for deleted messages: neither they nor their answers are stored or visible.
func deletedIsForgotten(e Evidence) (wrong []string) {
	left := map[chat.RunID]int{} // inputs
	for _, r := range e.Runs {
		left[r.ID] = len(r.Inputs)
	}
	for id, run := range e.Deleted {
		if _, ok := e.Stored(id); ok {
			wrong = append(wrong, fmt.Sprintf("I3: message %s was deleted, and is remembered", id))
		}
		if left[run] > 0 {
			continue
		}
		if _, ok := e.Stored(chat.Run{ID: run}.Said()); ok {
			wrong = append(wrong, fmt.Sprintf("I3: message %s was deleted, and its answer is remembered", id))
		}
		if slices.ContainsFunc(e.Seen, func(s Sight) bool { return s.Run == run && s.Last && !s.Gone && s.Text != "" }) {
			wrong = append(wrong, fmt.Sprintf("I3: message %s was deleted, and its answer stands", id))
		}
	}
	return wrong
}

// nothingAfterTheEnd is the part of I4 and I5 that readers can observe.
func nothingAfterTheEnd(e Evidence) (wrong []string) {
	type view struct {
		reader string
		run    chat.RunID
	}
	ended := map[view]bool{}
	for _, s := range e.Seen {
		v := view{s.Reader, s.Run}
		if ended[v] {
			wrong = append(wrong, fmt.Sprintf("I4: %s saw run %s change after its end", s.Reader, s.Run))
		}
		ended[v] = ended[v] || s.Last
	}
	return wrong
}

// oneWriter is the rest of I4: one request in flight for one message.
func oneWriter(e Evidence) (wrong []string) {
	until := map[string]time.Time{}
	for _, r := range e.Requests {
		if r.Message == "" {
			continue
		}
		if r.From.Before(until[r.Message]) {
			wrong = append(wrong, fmt.Sprintf("I4: two requests at once for message %s", r.Message))
		}
		until[r.Message] = r.To
	}
	return wrong
}

// oneRunAtATime is the rest of I5: when a later turn starts, the earlier turn's model call has ended.
func oneRunAtATime(e Evidence) (wrong []string) {
	work := slices.Clone(e.Work)
	slices.SortStableFunc(work, func(a, b Work) int { return a.From.Compare(b.From) })
	until := map[chat.RoomID]time.Time{}
	for _, w := range work {
		if w.From.Before(until[w.Room]) {
			wrong = append(wrong, fmt.Sprintf("I5: two model calls at once in room %s", w.Room))
		}
		if w.To.After(until[w.Room]) {
			until[w.Room] = w.To
		}
	}
	return wrong
}

// holdsObeyed is I6.
func holdsObeyed(e Evidence) (wrong []string) {
	held := map[string]time.Time{}
	for _, r := range e.Requests {
		if r.From.Before(held[r.Scope]) {
			wrong = append(wrong, fmt.Sprintf("I6: a request to %s came %v before the hold was over", r.Scope, held[r.Scope].Sub(r.From)))
		}
		if r.Hold > 0 {
			held[r.Scope] = r.To.Add(r.Hold)
		}
	}
	return wrong
}

// inOrder is I8: a message is created after the one before it was acknowledged.
func inOrder(e Evidence) (wrong []string) {
	until := map[string]time.Time{}
	for _, r := range e.Requests {
		if !r.Create {
			continue
		}
		if r.From.Before(until[r.Scope]) {
			wrong = append(wrong, "I8: two messages were created at once in "+r.Scope)
		}
		until[r.Scope] = r.To
	}
	return wrong
}

// Leak searches text for secrets or long parts of them.
func Leak(place, text string, secrets ...string) (found []string) {
	for _, s := range secrets {
		half := len(s) / 2
		for _, part := range []string{s, s[:half], s[half:]} {
			if len(part) >= 6 && strings.Contains(text, part) {
				found = append(found, place)
				break
			}
		}
	}
	return found
}
