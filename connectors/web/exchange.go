package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/connectors/web/dialect"
	"parley/core/answer"
	"parley/core/chat"
)

// exchange is one request of a client that has its own format and chooses its own ids of conversations.
type exchange struct {
	clients
	rw     http.ResponseWriter
	r      *http.Request
	room   chat.Room
	payer  chat.EntityID
	recent []chat.Memory // the stored messages, oldest first
	past   []chat.Memory // those of the user
	brief  bool          // see [incoming]
}

// incoming is a message of a client, or its choice.
type incoming struct {
	id       string            // the client's id of the conversation; empty: another conversation each time
	messages []dialect.Message // the last one is the user's
	system   string            // instructions of the client, which are quoted
	whole    bool              // the client sends the whole conversation each time
	// earlier is the number of the user's earlier messages, if the message follows one that the client names (counted).
	earlier int
	counted bool
	again   bool // the client asks for another answer to the last message
	// question is the id of the question that the client answers instead of sending a message, and payload the option; see
	// [dialect.Option].
	question string
	payload  json.RawMessage
	// brief is set for a task in the background of a client, such as a title: the conversation is deleted after the answer.
	brief bool
}

// target is the answer that a request is about.
type target struct {
	run chat.RunID // "": there is none
	// Of an answer that waited for a choice, which the request has made: the question, and the answer at that time, which
	// the client has already.
	question string
	before   *answer.View
}

// find loads the conversation of a message, or opens a new one, unless the message follows an earlier one.
func (x *exchange) find(in incoming) (no *refusal) {
	name := newConversationID(readerOf(x.r))
	if in.id != "" {
		if no = x.load(in.id, door{x.web}.writable); no == nil || no.status != http.StatusNotFound || in.counted {
			return no
		}
		if name, no = x.ownID(x.r, in.id); no != nil {
			return no
		}
	}
	x.room, no = door{x.web}.create(x.r, name)
	return no
}

// load loads the conversation that the client calls id: by open, which is [door.conversation] or [door.writable].
func (x *exchange) load(id string, open opener) *refusal {
	name, no := x.ownID(x.r, id)
	if no != nil {
		return no
	}
	return x.loadNamed(name, open)
}

// opener returns a conversation by the gateway's id.
type opener func(*http.Request, string) (chat.Room, *refusal)

// loadNamed loads a conversation by the gateway's id.
func (x *exchange) loadNamed(id string, open opener) (no *refusal) {
	if x.room, no = open(x.r, id); no != nil {
		return no
	}
	var err error
	if x.recent, err = x.web.recent(x.r.Context(), x.room.ID); err != nil {
		return x.web.failures.refuse("read a conversation", err)
	}
	for _, m := range x.recent {
		if !x.web.opts.wrote(m) {
			x.past = append(x.past, m)
		}
	}
	return nil
}

// deliver stores the client's last message, or changes a stored one, and returns the answer.
func (x *exchange) deliver(in incoming) (t target, no *refusal) {
	last, step := in.messages[len(in.messages)-1], x.place(in)
	if utf8.RuneCountInString(last.Text) > maxText {
		return t, refused(http.StatusRequestEntityTooLarge, "refused.message_too_long")
	}
	if step.Again {
		if run, another, no := x.answerAgain(x.past[step.Keep], last, in.again); !another {
			return target{run: run}, no
		}
	}
	waiting, err := x.waiting("")
	if err != nil {
		return t, x.web.failures.refuse("find an open question", err)
	}
	for _, m := range x.past[step.Keep:] { // the client has removed these
		if _, err := x.web.submit(x.r.Context(), chat.Deleted{Room: x.room.ID, ID: m.ID}); err != nil {
			return t, x.web.failures.refuse("delete a message", err)
		}
	}
	q := question{Text: last.Text, ClientMessageID: x.key(last, step.Keep), brief: x.brief}
	for i, f := range last.Files {
		q.Images = append(q.Images, image{f.Data, f.Type, f.Name})
		if refuse := x.web.opts.Refuse; refuse != nil {
			if why := refuse(f.Name, f.Type, f.Data[:min(len(f.Data), 4096)]); why != "" {
				return t, refused(http.StatusUnsupportedMediaType, fmt.Sprintf("File %d can't be read: %s.", i+1, why))
			}
		}
	}
	q.Text = x.quote(q.words(), in, step.Keep)
	acc, no := x.web.submitQuestion(x.r, x.room, x.payer, q)
	if no != nil {
		return t, no
	}
	return waiting.after(acc.Accepted), nil
}

// place returns the meaning of the client's last message.
func (x *exchange) place(in incoming) dialect.Step {
	if n := len(x.past); in.counted && in.earlier == n-1 {
		return dialect.Step{Keep: n - 1, Again: true}
	} else if in.counted {
		return dialect.Step{Keep: n}
	}
	stored := make([]string, len(x.past))
	for i, m := range x.past {
		stored[i] = dialect.Own(m.Text)
	}
	return dialect.Place(stored, dialect.Texts(in.messages), in.whole)
}

// waiting returns the answer that waits for a choice: the one that asks question, or any if that is "".
func (x *exchange) waiting(question string) (t target, err error) {
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	open, err := x.web.opts.Store.OpenQuestions(ctx, x.room.ID)
	for _, q := range open {
		if question != "" && q.ID != question {
			continue
		}
		a, err := x.web.opts.Answers.Watch(ctx, q.Run)
		if err != nil {
			return t, err
		}
		if v := a.View(); !v.Outcome.Done() {
			t = target{q.Run, q.ID, &v}
		}
	}
	return t, err
}

// after returns the answer to follow after acc: t, if that waited for this choice, and otherwise the one that acc names.
func (t target) after(acc chat.Accepted) target {
	if acc.Chosen && t.run != "" {
		return t
	}
	return target{run: acc.Run}
}

// choose answers a question, and returns the answer to follow.
func (x *exchange) choose(question string, payload json.RawMessage) (t target, no *refusal) {
	open, err := x.web.opts.Store.OpenQuestions(x.r.Context(), x.room.ID)
	if err != nil {
		return t, x.web.failures.refuse("find an open question", err)
	}
	i := slices.IndexFunc(open, func(q chat.Question) bool { return q.ID == question })
	if i < 0 {
		return t, refused(http.StatusConflict, "refused.question_closed")
	}
	option, ok := dialect.Option(answer.Choices{ID: question, Options: open[i].Options}, payload)
	if !ok {
		return t, refused(http.StatusBadRequest, "The payload must be one of the options.")
	}
	if no := x.web.charge(x.r, x.web.messages); no != nil {
		return t, no
	}
	waiting, err := x.waiting(question)
	if err != nil {
		return t, x.web.failures.refuse("find an open question", err)
	}
	acc, err := x.web.submit(x.r.Context(), chat.Choice{
		Question: question, Option: option, Room: x.room.ID, Author: readerOf(x.r).author(x.room.ID), BilledTo: x.payer,
	})
	switch {
	case err != nil:
		return t, x.web.failures.refuse("accept a choice", err)
	case acc.Refused != "":
		return t, refused(http.StatusConflict, acc.Refused)
	}
	return waiting.after(acc), nil
}

// quote adds the client's instructions to a message, unless the conversation has them, and the earlier messages, if the
// conversation is new here.
func (x *exchange) quote(own string, in incoming, keep int) string {
	var others []string
	if len(x.past) == 0 {
		others = append(others, dialect.Transcript(in.messages[:len(in.messages)-1]))
	}
	system := dialect.Quote("", in.system)
	if !slices.ContainsFunc(x.past[:keep], func(m chat.Memory) bool { return strings.HasSuffix(m.Text, system) }) {
		others = append(others, in.system)
	}
	return dialect.Quote(own, others...)
}

// key returns the id of a new message, which is the same when the request is repeated. A message that replaces a removed
// one has another id, because the removed one is still known.
func (x *exchange) key(m dialect.Message, keep int) string {
	if keep < len(x.past) {
		return newID()
	}
	if m.ID != "" && isKey(m.ID) {
		return m.ID
	}
	before := chat.MemoryID("")
	if keep > 0 {
		before = x.past[keep-1].ID
	}
	sum := sha256.Sum256([]byte(string(before) + "\x00" + m.Text))
	return hex.EncodeToString(sum[:16])
}

// answerAgain answers a stored message again, with the new text. The same text joins an answer in progress, unless another
// one is asked for. another reports whether the message has to be sent as another one.
func (x *exchange) answerAgain(old chat.Memory, m dialect.Message, asked bool) (run chat.RunID, another bool, no *refusal) {
	same := dialect.Same(dialect.Own(old.Text), m.Text)
	if same && !asked {
		if run := x.running(old); run != "" {
			return run, false, nil
		}
		if m.ID != "" && strings.HasSuffix(string(old.ID), "/"+m.ID) { // the same request again
			acc, err := x.web.opts.Store.Known(x.r.Context(), old)
			return acc.Run, err != nil, nil
		}
	}
	if no := x.web.charge(x.r, x.web.messages); no != nil {
		return "", false, no
	}
	text := m.Text
	if same {
		text = ""
	}
	acc, no := manageAPI{x.web}.answerAgain(x.r, x.room, x.payer, old, text)
	return acc.Run, no == nil && acc.Run == "", no
}

// running returns the run that answers a message now, or "".
func (x *exchange) running(m chat.Memory) chat.RunID {
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	acc, err := x.web.opts.Store.Known(ctx, m)
	if err != nil || acc.Run == "" {
		return ""
	}
	a, err := x.web.opts.Answers.Watch(ctx, acc.Run)
	if err != nil || a.View().Outcome.Done() {
		return ""
	}
	return acc.Run
}

// current returns the run that answers the newest message now, or "".
func (x *exchange) current() chat.RunID {
	if len(x.past) == 0 {
		return ""
	}
	return x.running(x.past[len(x.past)-1])
}

// listen returns how the client follows t.
func (x *exchange) listen(t target, enc dialect.Encoder) *listening {
	l := &listening{encoder: enc, answered: t.question, read: dialect.Reader{Details: readerOf(x.r).details, Reasons: x.web.opts.Reasoning}}
	if t.before != nil {
		before := *t.before
		l.skips, before.Choices = true, nil // the text of the question changes with the choice
		enc.Skip(l.read.State("", nil, before))
	}
	return l
}

// relay streams t. It holds nothing of the conversation meanwhile.
func (x *exchange) relay(t target, enc dialect.Encoder) {
	x.recent, x.past = nil, nil
	x.clients.relay(x.rw, x.r, t.run, x.listen(t, enc))
}

// wait waits for the end of t, and returns its state, or answers the request.
func (x *exchange) wait(t target, enc dialect.Encoder) (s dialect.State, ok bool) {
	s, err := x.whole(x.r, t.run, x.listen(t, enc))
	if err != nil {
		x.unanswered(x.rw, x.r, err)
	}
	return s, err == nil
}

// forget deletes the conversation of a task in the background of a client: it is no part of the memory.
func (x *exchange) forget() {
	if !x.brief {
		return
	}
	ctx := context.WithoutCancel(x.r.Context())
	if _, err := x.web.submit(ctx, chat.Cleared{Room: x.room.ID, Entirely: true, Person: visitor(x.room.ID)}); err != nil {
		x.web.failures.note("clear a conversation", err)
	}
}
