package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"parley/connectors/web/dialect"
	"parley/core/answer"
	"parley/core/chat"
)

// clients is the part of the connector that clients of other formats share.
type clients struct{ web *Web }

// exchange is one request of a client that has its own format and chooses its own ids of conversations.
type exchange struct {
	clients
	rw    http.ResponseWriter
	r     *http.Request
	room  chat.Room
	payer chat.EntityID
	past  []chat.Memory // the stored messages of the user, oldest first
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

// sent is what the client sends.
type sent struct {
	messages []dialect.Message // the last one is the user's
	system   string            // instructions of the client, which are quoted
	whole    bool              // the client sends the whole conversation each time
	// after is the number of the user's earlier messages, if the client says so, or -1.
	after int
	again bool // the client asks for another answer to the last message
}

// begin finds or opens the conversation that the client calls id, or answers the request. An empty id is another
// conversation each time.
func (c clients) begin(rw http.ResponseWriter, r *http.Request, id string) (x *exchange, ok bool) {
	if !c.web.allow(rw, r, c.web.attempts) {
		return nil, false
	}
	x = &exchange{clients: c, rw: rw, r: r}
	var no *refusal
	if x.payer, no = door(c).payer(r); no == nil {
		no = x.find(id)
	}
	if no != nil {
		no.reply(rw)
	}
	return x, no == nil
}

// find loads the conversation that the client calls id, or opens a new one.
func (x *exchange) find(id string) (no *refusal) {
	name, err := newConversationID(readerOf(x.r)), error(nil)
	if id != "" {
		if no = x.load(id); no == nil || no.status != http.StatusNotFound {
			return no
		}
		if name, err = x.clients.ownID(x.r, id); err != nil {
			return x.web.failures.refuse("find a conversation", err)
		}
	}
	x.room, no = door{x.web}.create(x.r, name)
	return no
}

// load loads the conversation that the client calls id.
func (x *exchange) load(id string) (no *refusal) {
	name, err := x.clients.ownID(x.r, id)
	if err != nil {
		return x.web.failures.refuse("find a conversation", err)
	}
	if x.room, no = (door{x.web}).conversation(x.r, name); no != nil {
		return no
	}
	recent, err := x.web.recent(x.r.Context(), x.room.ID)
	if err != nil {
		return x.web.failures.refuse("read a conversation", err)
	}
	for _, m := range recent {
		if m.Author != chat.EntityID(x.web.opts.Agent.ID) {
			x.past = append(x.past, m)
		}
	}
	return nil
}

// ownID returns the id of the conversation that the sender of r calls id. Clients choose their ids, so an id belongs to its
// sender alone.
func (c clients) ownID(r *http.Request, id string) (string, error) {
	space, err := c.space(r)
	sum := sha256.Sum256([]byte(space + "\x00" + id))
	if readerOf(r).id != "" {
		return hex.EncodeToString(sum[:ownedSize]), err
	}
	return hex.EncodeToString(sum[:16]), err
}

// space returns the name of the ids of r's sender: a visitor. Without a token, on a gateway for its own machine all senders are
// one, and elsewhere each address is another one, until the day ends.
func (c clients) space(r *http.Request) (string, error) {
	switch who := readerOf(r); {
	case who.owner:
		return "owner", nil
	case who.id != "":
		return string(who.id), nil
	case who.details:
		return "here", nil
	}
	id, err := c.web.addresses.name(r.Context(), c.web.guard.client(r).String())
	return string(id), err
}

// deliver stores the client's last message, or changes a stored one, and returns the answer, or answers the request.
func (x *exchange) deliver(in sent) (t target, ok bool) {
	last, step := in.messages[len(in.messages)-1], x.place(in)
	if utf8.RuneCountInString(last.Text) > maxText {
		return t, x.refuse(http.StatusRequestEntityTooLarge, "This message is too long.")
	}
	if step.Again {
		run, ok, anew := x.answerAgain(x.past[step.Keep], last, in.again)
		if !anew {
			return target{run: run}, ok
		}
	}
	waiting, err := x.waiting("")
	if err != nil {
		x.web.broken(x.rw, "find an open question", err)
		return t, false
	}
	if !x.remove(x.past[step.Keep:]) {
		return t, false
	}
	q := question{Text: last.Text, ClientMessageID: x.key(last, step.Keep)}
	for i, f := range last.Files {
		q.Images = append(q.Images, image{f.Data, f.Type, f.Name})
		if refuse := x.web.opts.Refuse; refuse != nil {
			if why := refuse(f.Name, f.Type, f.Data[:min(len(f.Data), 4096)]); why != "" {
				return t, x.refuse(http.StatusUnsupportedMediaType, fmt.Sprintf("File %d can't be read: %s.", i+1, why))
			}
		}
	}
	q.Text = x.quote(q.words(), in, step.Keep)
	acc := x.web.submitQuestion(x.rw, x.r, x.room, x.payer, q)
	if acc == nil {
		return t, false
	}
	return waiting.after(acc.Accepted), true
}

// place returns what the client's last message means.
func (x *exchange) place(in sent) dialect.Step {
	if in.after >= 0 {
		if n := len(x.past); in.after == n-1 {
			return dialect.Step{Keep: n - 1, Again: true}
		}
		return dialect.Step{Keep: len(x.past)}
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

// decide answers an approval: its first option approves, and its last one does not.
func (x *exchange) decide(question string, approved bool) (t target, ok bool) {
	open, err := x.web.opts.Store.OpenQuestions(x.r.Context(), x.room.ID)
	if err != nil {
		x.web.broken(x.rw, "find an open question", err)
		return t, false
	}
	for _, q := range open {
		if q.ID == question && approved {
			return x.choose(question, 0)
		} else if q.ID == question {
			return x.choose(question, len(q.Options)-1)
		}
	}
	return t, x.refuse(http.StatusConflict, "This question is closed.")
}

// choose makes a choice, and returns the answer to follow, or answers the request.
func (x *exchange) choose(question string, option int) (t target, ok bool) {
	if !x.web.allow(x.rw, x.r, x.web.messages) {
		return t, false
	}
	waiting, err := x.waiting(question)
	if err != nil {
		x.web.broken(x.rw, "find an open question", err)
		return t, false
	}
	acc, err := x.web.submit(x.r.Context(), chat.Choice{
		Question: question, Option: option, Room: x.room.ID, Author: readerOf(x.r).author(x.room.ID), BilledTo: x.payer,
	})
	switch {
	case err != nil:
		x.web.broken(x.rw, "accept a choice", err)
		return t, false
	case acc.Refused != "":
		return t, x.refuse(http.StatusConflict, acc.Refused)
	}
	return waiting.after(acc), true
}

// quote adds the client's instructions to a message, unless the conversation has them, and the earlier messages, if the
// conversation is new here.
func (x *exchange) quote(own string, in sent, keep int) string {
	var others []string
	system := dialect.Quote("", in.system)
	known := system == ""
	for _, m := range x.past[:keep] {
		known = known || len(m.Text) >= len(system) && m.Text[len(m.Text)-len(system):] == system
	}
	if len(x.past) == 0 {
		others = append(others, dialect.Transcript(in.messages[:len(in.messages)-1]))
	}
	if !known {
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

// shortID returns the client's id of a message of the user, and the whole id of others.
func shortID(m chat.Memory) string { return strings.TrimPrefix(string(m.ID), string(m.Room)+"/") }

// answerAgain answers a stored message again, with the new text. The same text joins an answer in progress, unless another
// one is asked for. another reports that the message has to be sent as another one.
func (x *exchange) answerAgain(old chat.Memory, m dialect.Message, asked bool) (run chat.RunID, ok, another bool) {
	same := dialect.Same(dialect.Own(old.Text), m.Text)
	if same && !asked {
		if run := x.running(old); run != "" {
			return run, true, false
		}
		if m.ID != "" && strings.HasSuffix(string(old.ID), "/"+m.ID) { // the same request again
			acc, err := x.web.opts.Store.Known(x.r.Context(), old)
			return acc.Run, err == nil, err != nil
		}
	}
	if !x.web.allow(x.rw, x.r, x.web.messages) {
		return "", false, false
	}
	who := readerOf(x.r)
	edit := chat.Edited{Again: true, Message: chat.Message{Memory: old, Place: x.room, Address: chat.Address{
		Connector: Name, Room: x.room.ID, ReplyTo: old.ID, BilledTo: x.payer, Details: who.details,
	}}}
	if edit.Author = who.author(x.room.ID); !same {
		edit.Text = m.Text
	}
	acc, err := x.web.submit(x.r.Context(), edit)
	switch {
	case err != nil:
		x.web.broken(x.rw, "answer a message again", err)
		return "", false, false
	case acc.Refused != "":
		return "", x.refuse(http.StatusConflict, acc.Refused), false
	}
	return acc.Run, acc.Run != "", acc.Run == ""
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

// remove deletes messages that the client has removed, with their answers.
func (x *exchange) remove(all []chat.Memory) bool {
	for _, m := range all {
		if _, err := x.web.submit(x.r.Context(), chat.Deleted{Room: x.room.ID, ID: m.ID}); err != nil {
			x.web.broken(x.rw, "delete a message", err)
			return false
		}
	}
	return true
}

// refuse answers the request with a sentence. It returns false.
func (x *exchange) refuse(status int, sentence string) bool {
	fail(x.rw, status, sentence)
	return false
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
	x.past = nil
	x.clients.relay(x.rw, x.r, t.run, x.listen(t, enc))
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

// knownRoom returns the conversation that the client calls id, or answers the request.
func (c clients) knownRoom(rw http.ResponseWriter, r *http.Request, id string) (room chat.Room, ok bool) {
	name, err := c.ownID(r, id)
	if err != nil {
		c.web.broken(rw, "find a conversation", err)
		return room, false
	}
	room, no := door(c).conversation(r, name)
	if no != nil {
		no.reply(rw)
	}
	return room, no == nil
}

// stopOwn stops the answers of the conversation that the client calls id, or answers the request.
func (c clients) stopOwn(rw http.ResponseWriter, r *http.Request, id string) bool {
	room, ok := c.knownRoom(rw, r, id)
	if !ok {
		return false
	}
	if _, err := c.web.submit(r.Context(), chat.Command{Room: room.ID, Author: readerOf(r).author(room.ID), Name: chat.Stop}); err != nil {
		c.web.broken(rw, "stop an answer", err)
		return false
	}
	return true
}

// errorForm returns an error response in the form that a client expects.
type errorForm func(status int, sentence, code string) (kind string, body []byte)

// shaped converts the error responses of next.
func shaped(next http.Handler, form errorForm) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&shapedErrors{ResponseWriter: rw, form: form}, r)
	})
}

// shapedErrors writes error responses in another form. They are written at once, see reply.
type shapedErrors struct {
	http.ResponseWriter
	form   errorForm
	status int // of an error
	done   bool
}

// WriteHeader implements http.ResponseWriter.
func (e *shapedErrors) WriteHeader(status int) {
	if e.status = status; status < http.StatusBadRequest {
		e.ResponseWriter.WriteHeader(status)
	}
}

// Write implements io.Writer.
func (e *shapedErrors) Write(p []byte) (int, error) {
	if e.status < http.StatusBadRequest {
		return e.ResponseWriter.Write(p)
	}
	if e.done {
		return len(p), nil
	}
	e.done = true
	var body struct{ Error, Code string }
	_ = json.Unmarshal(p, &body) // the errors of this package are in this form
	kind, shape := e.form(e.status, body.Error, body.Code)
	e.Header().Del("Content-Length")
	e.Header().Set("Content-Type", kind)
	e.ResponseWriter.WriteHeader(e.status)
	_, err := e.ResponseWriter.Write(shape)
	return len(p), err
}

// Unwrap returns the writer for an http.ResponseController.
func (e *shapedErrors) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// readDialect returns the body of a request, or answers it. The caller must call end when it no longer needs the body.
func (c clients) readDialect(rw http.ResponseWriter, r *http.Request) (data []byte, end func(), ok bool) {
	body := r.Body
	if no := checkJSON(r, maxBody); no != nil {
		refuseBody(rw, body, no)
		return nil, nil, false
	}
	end = c.web.receive(rw, r)
	data, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxBody))
	if err != nil {
		end()
		refuseBody(rw, body, refuse(err, "The body must be a JSON object."))
		return nil, nil, false
	}
	return data, end, true
}
