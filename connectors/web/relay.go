package web

import (
	"context"
	"errors"
	"net/http"

	"parley/connectors/web/dialect"
	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/lang"
)

// listening is how a client of another format follows an answer.
type listening struct {
	read    dialect.Reader
	encoder dialect.Encoder
	// answered is the question that the request has answered: the answer that waited for it may still show it.
	answered string
	skips    bool // the client has a part of the answer already
}

// relay streams a run's answer in another format, until it ends, or waits for a choice. A run that is "" has no answer.
// Disconnecting stops nothing.
func (c clients) relay(rw http.ResponseWriter, r *http.Request, run chat.RunID, l *listening) {
	defer c.web.reading()()
	out := newSSE(rw, c.web.serving.Done())
	ctx, done := readerOf(r).allowed(r.Context())
	defer done()
	var err error
	apart(func() { err = out.start() })
	if err == nil {
		err = c.encodeAll(ctx, out, run, l)
	}
	why, code := "refused.restarting", ""
	switch no := barred(err); {
	case err == nil:
		return
	case errors.Is(err, errGone), r.Context().Err() != nil:
		c.web.opts.Log.Debug("a reader disconnected", "run", run, "err", err)
		return
	case no != nil:
		why, code = no.sentence, no.code
	case !errors.Is(err, chat.ErrShutdown):
		c.web.opts.Log.Error("a stream failed", "run", run, "err", err)
	}
	if out.buf = l.encoder.Fail(out.buf, lang.In(r.Header.Get("Accept-Language")).Say(why), code); len(out.buf) == 0 {
		panic(http.ErrAbortHandler) // the client sees that the stream is not complete
	}
	_ = out.flush() // the reader has disconnected
}

// encodeAll is relay after the header.
func (c clients) encodeAll(ctx context.Context, out *sse, run chat.RunID, l *listening) (err error) {
	if run == "" {
		out.buf = l.encoder.Encode(l.encoder.Begin(out.buf), unanswered)
		return out.flush()
	}
	b := c.web.broadcasts.join(run, l)
	defer c.web.broadcasts.leave(b)
	p := place{starts: b.begun()}
	for { // a run can change hands several times
		var a *answer.Answer
		apart(func() { a, err = c.web.opts.Answers.Watch(ctx, run) })
		if err != nil {
			return err
		}
		if err = b.read(ctx, out, run, a, &p); !errors.Is(err, answer.ErrLost) {
			return err
		}
		p.starts = b.restart(p.starts)
	}
}

// unanswered is the state of a message that no run answers.
var unanswered = dialect.State{Outcome: answer.Outcome{Status: answer.Ignored}}

// encode appends the changes of a after at, and reports whether the stream is over. Another replica's answer can be behind.
func (l *listening) encode(b []byte, run chat.RunID, a *answer.Answer, at answer.Cursor) (_ []byte, now answer.Cursor, over bool) {
	changes, view := a.Read(at)
	if view.At <= at {
		return b, at, false
	}
	s := l.state(run, changes, view)
	return l.encoder.Encode(b, s), view.At, s.Over()
}

// state returns the state of a view, without a question that was answered.
func (l *listening) state(run chat.RunID, changes []answer.Change, v answer.View) dialect.State {
	if v.Choices != nil && v.Choices.ID == l.answered {
		v.Choices = nil
	}
	return l.read.State(string(chat.Run{ID: run}.Said()), changes, v)
}

// whole waits for the end of an answer, or until it waits for a choice, and returns its state, as long as its reader may read.
func (c clients) whole(r *http.Request, run chat.RunID, l *listening) (dialect.State, error) {
	if run == "" {
		return unanswered, nil
	}
	allowed, done := readerOf(r).allowed(r.Context())
	defer done()
	ctx, cancel := context.WithCancelCause(allowed)
	defer cancel(nil)
	defer context.AfterFunc(c.web.serving, func() { cancel(chat.ErrShutdown) })()
	for {
		a, err := c.web.opts.Answers.Watch(ctx, run)
		if err != nil {
			return dialect.State{}, err
		}
		var at answer.Cursor
		for err = a.Wait(ctx, at); err == nil; err = a.Wait(ctx, at) {
			view := a.View()
			if s := l.state(run, nil, view); s.Over() {
				return s, nil
			}
			at = view.At
		}
		if !errors.Is(err, answer.ErrLost) {
			return dialect.State{}, err
		}
	}
}

// unanswered answers a request whose answer can't be waited for.
func (c clients) unanswered(rw http.ResponseWriter, r *http.Request, err error) {
	switch no := barred(err); {
	case r.Context().Err() != nil: // the client has gone
	case no != nil:
		no.reply(rw)
	default:
		c.web.broken(rw, "wait for an answer", err)
	}
}
