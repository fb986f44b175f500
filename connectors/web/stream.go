package web

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/rest"
)

const (
	beat = 15 * time.Second
	pace = 40 * time.Millisecond // minimum time between two text frames

	legacyRate = 64 << 10 // bytes of text per second of a stream whose frames hold the whole text

	// choiceGrace is how long the stream of a choice continues after the gateway is told to stop. A choice is executed
	// at once, and can end the last answer that the gateway was kept running for (gateway chat -p).
	choiceGrace = 3 * time.Second
)

// defaultSource is the message source of the browser chat.
const defaultSource = "client_chat"

// visitor returns the person in a conversation, which has only one.
func visitor(room chat.RoomID) chat.EntityID { return chat.EntityID(room) }

// accepted is a message whose answer is streamed.
type accepted struct {
	chat.Accepted
	room chat.RoomID
	wishes
}

// wishes are the parts of an answer that a reader wants and may see.
type wishes struct {
	legacy    bool // every text frame holds the whole text
	reasoning bool // also the model's reasoning
	details   bool // also what only some may see of calls: see [reader]
	cursors   bool // every text frame has a cursor
	after     cursor
}

// send accepts a message and streams its answer. A repeated message attaches to the same answer, even over the rate
// limit; a reader who disconnects stops nothing. The stack of this goroutine stays small, because it lives as long as
// the stream.
func (w *Web) send(rw http.ResponseWriter, r *http.Request) {
	var acc *accepted
	apart(func() { acc = w.accept(rw, r) })
	if acc == nil {
		return
	}
	defer w.reading()()
	w.stream(rw, r, acc.room, acc.Accepted, acc.wishes)
}

// apart runs do on a stack of its own, and waits for it. Storing and reading a message needs 32 KB of stack, and
// writing the header 8 KB, which the goroutine of a stream would keep until its end. A panic is passed on to the
// server, which handles it.
func apart(do func()) {
	ended := make(chan any)
	go func() {
		defer func() { ended <- recover() }()
		do()
	}()
	if panicked := <-ended; panicked != nil {
		panic(panicked)
	}
}

// accept accepts the message of a request, or answers the request and returns nil. The message is stored when it
// returns, and only then the stream begins: a client that has seen the header need not send it again.
//
// A known message is not charged to the rate of messages, nor are its files stored again: it is a client that
// reconnects.
func (w *Web) accept(rw http.ResponseWriter, r *http.Request) *accepted {
	room, no := door{w}.writable(r, r.PathValue("id"))
	if no != nil {
		no.reply(rw)
		return nil
	}
	if !w.allow(rw, r, w.attempts) {
		return nil
	}
	payer, no := door{w}.payer(r)
	var q question
	body := r.Body
	if no == nil {
		if q, no = w.readQuestion(rw, r); no != nil {
			no.unread(body)
		}
	}
	var acc *accepted
	if no == nil {
		acc, no = w.submitQuestion(r, room, payer, q)
	}
	if no != nil {
		no.reply(rw)
	}
	return acc
}

// submitQuestion accepts q, as accept does with that of a request.
func (w *Web) submitQuestion(r *http.Request, room chat.Room, payer chat.EntityID, q question) (*accepted, *refusal) {
	who := readerOf(r)
	author, id := who.author(room.ID), q.id(room.ID)
	known, err := w.known(r.Context(), chat.Memory{ID: id, Room: room.ID, Author: author, Text: q.Text})
	if err != nil {
		return nil, w.failures.refuse("find a message", err)
	}
	var files []chat.Attachment
	var no *refusal
	switch {
	case !known:
		if no = w.charge(r, w.messages); no == nil {
			files, no = fileAPI{w}.attach(r.Context(), room.ID, payer, q)
		}
	case r.ContentLength <= smallBody: // many tabs can come back at the same time: each costs no more than reading
		if no = w.charge(r, w.reads); no == nil {
			door{w}.refund(r, w.attempts)
		}
	}
	if no != nil {
		return nil, no
	}
	m := chat.Memory{ID: id, Room: room.ID, Author: author, Name: cmp.Or(who.name, q.Name), Text: q.Text, Files: files, At: time.Now()}
	acc, err := w.submit(r.Context(), chat.Message{
		Memory:  m,
		Place:   room,
		Address: chat.Address{Connector: Name, Room: room.ID, ReplyTo: id, BilledTo: payer, Details: who.details},
		Source:  cmp.Or(q.Source, defaultSource),
		Locale:  language(r),
	})
	if err == nil && acc.Blocked {
		return nil, blocked()
	}
	if err == nil && who.id != "" && !acc.Duplicate && !q.brief {
		err = door{w}.touch(r, m) // a message without it could be lost: its sender would not find it again
	}
	switch {
	case err != nil:
		return nil, w.failures.refuse("accept a message", err)
	case acc.Altered:
		no := refused(http.StatusConflict, "refused.sent_before")
		no.code = "CHAT_IDEMPOTENCY_CONFLICT"
		return nil, no
	case acc.Refused != "":
		return nil, refused(http.StatusConflict, acc.Refused)
	}
	wants := wishes{legacy: q.StreamProtocol == "legacy", reasoning: q.Reasoning, details: who.details}
	return &accepted{acc, room.ID, wants.from(q.After)}, nil
}

// language returns the first language of the sender's client: the chat page sends the one that it speaks.
func language(r *http.Request) string {
	first, _, _ := strings.Cut(r.Header.Get("Accept-Language"), ",")
	tag, _, _ := strings.Cut(first, ";")
	return strings.TrimSpace(tag)
}

// known reports whether m arrived before.
func (w *Web) known(ctx context.Context, m chat.Memory) (bool, error) {
	_, err := w.opts.Store.Known(ctx, m)
	if errors.Is(err, chat.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// stream streams a run's answer until the answer ends, the reader disconnects or the gateway stops. In the last case,
// and after an internal error, the client is asked to reconnect, which continues the same answer, perhaps at another
// replica.
func (w *Web) stream(rw http.ResponseWriter, r *http.Request, room chat.RoomID, acc chat.Accepted, wants wishes) {
	out := newSSE(rw, w.serving.Done())
	ctx, done := readerOf(r).allowed(r.Context())
	defer done()
	if acc.Chosen {
		// The stream of a choice continues for a while, see choiceGrace.
		grace, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(w.serving, func() { _ = rest.For(grace, choiceGrace); cancel(chat.ErrShutdown) })()
		out.leaving, ctx = nil, grace
	}
	var err error
	apart(func() { err = out.start() })
	if err == nil {
		err = w.follow(ctx, out, room, acc, wants)
	}
	switch no := barred(err); {
	case err == nil:
	case no != nil:
		_ = out.reconnect(no.code)
	case errors.Is(err, chat.ErrShutdown):
		_ = out.reconnect("")
	case errors.Is(err, errGone), r.Context().Err() != nil:
		w.opts.Log.Debug("a reader disconnected", "run", acc.Run, "err", err)
	default:
		w.opts.Log.Error("a stream failed", "run", acc.Run, "err", err)
		_ = out.reconnect("")
	}
}

// follow streams the answer of a run, also if the run moves to another process meanwhile: then it watches the new
// answer. A message that no run answers ends at once.
func (w *Web) follow(ctx context.Context, out *sse, room chat.RoomID, acc chat.Accepted, wants wishes) error {
	enc := &encoder{agent: w.opts.Agent.Name, room: room, wishes: wants, chosen: acc.Chosen, joining: acc.Duplicate}
	enc.reasoning = enc.reasoning && w.opts.Reasoning
	if err := out.frames(enc.thinking()); err != nil {
		return err
	}
	if acc.Run == "" {
		return out.frames(enc.nothing(acc.Relayed))
	}
	// A run can change hands several times.
	for {
		var a *answer.Answer
		var err error
		apart(func() { a, err = w.opts.Answers.Watch(ctx, acc.Run) })
		if err != nil {
			return err
		}
		err = w.copy(ctx, out, enc, acc.Run, a)
		if !errors.Is(err, answer.ErrLost) {
			return err
		}
		enc.lost = true // another answer begins: of another process, or of this one after the run has waited
	}
}

// copy writes the changes of a, joined, until it has ended. A slow reader receives the latest state less often; nothing
// is queued for it. Frames are at least pause apart, except the last one, which ended lets through at once.
func (w *Web) copy(ctx context.Context, out *sse, enc *encoder, run chat.RunID, a *answer.Answer) error {
	var at answer.Cursor
	var next time.Time // of a frame, unless the answer ends before
	dense := false     // changes come faster than frames: pausing before waiting saves a wake-up for each
	ended := a.Ended()
	for {
		if dense {
			if err := out.pause(ctx, next, ended); err != nil {
				return err
			}
		}
		waited, err := out.wait(ctx, a, at)
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if dense = !waited || time.Now().Before(next); dense {
			if err := out.pause(ctx, next, ended); err != nil {
				return err
			}
		}
		changes, view := a.Read(at)
		at = view.At
		if err := out.frames(enc.encode(run, changes, view)); err != nil {
			return err
		}
		if view.Outcome.Done() {
			return nil
		}
		next = time.Now().Add(enc.pause())
	}
}

// pause returns the time until the next text frame. Frames with the whole text become rarer as it grows, which bounds
// the bandwidth.
func (e *encoder) pause() time.Duration {
	if !e.legacy {
		return pace
	}
	length := 0
	for _, s := range e.seen.Segments {
		length += len(s.Text)
	}
	return max(pace, time.Duration(length)*time.Second/legacyRate)
}
