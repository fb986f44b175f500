package discord

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"runtime/debug"
	"sync"
	"time"
)

// serve processes l until it ends, and returns the reason. When ctx is done it closes l in a way that keeps the session
// resumable.
func (g *gateway) serve(ctx context.Context, l *link) error {
	ctx, end := context.WithCancelCause(ctx)
	silent := time.AfterFunc(silentTime, func() { end(errSilent) })
	stop := context.AfterFunc(ctx, l.leave)
	var beats sync.WaitGroup
	every, err := g.begin(l)
	if err == nil {
		beats.Go(func() {
			if err := l.beat(ctx, every); err != nil {
				end(err)
			}
		})
		err = g.listen(ctx, l, silent)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	stop()
	silent.Stop()
	end(nil)
	beats.Wait()
	return err
}

// begin logs in or resumes the session, after Discord has sent its heartbeat interval.
func (g *gateway) begin(l *link) (every time.Duration, err error) {
	if every, err = l.hello(); err != nil {
		return 0, err
	}
	if g.resuming {
		return every, l.resume(g.token, g.session)
	}
	g.begun = time.Now()
	g.logins++
	return every, l.identify(g.token, g.intent)
}

// listen returns the reason for the connection's end. Until the connection is ready each event restarts the silent
// timer.
func (g *gateway) listen(ctx context.Context, l *link, silent *time.Timer) error {
	for {
		f, err := l.read()
		switch {
		case errors.Is(err, errUnreadable):
			g.log.Warn("a Discord gateway frame is skipped", "err", err)
			continue
		case err != nil:
			return err
		}
		switch f.Op {
		case opDispatch:
			l.seq.Store(f.Seq)
			g.dispatch(ctx, f)
			if silent.Stop() && g.ready.IsZero() {
				silent.Reset(silentTime)
			}
		case opHeartbeat:
			err = l.heartbeat()
		case opReconnect:
			err = errReconnect
		case opInvalidSession:
			err = invalid{resumable: string(f.Data) == "true"}
		case opHeartbeatAck:
			l.acked.Store(true)
		}
		if err != nil {
			return err
		}
	}
}

// dispatch processes one event. The event is acknowledged once everything in it is accepted.
func (g *gateway) dispatch(ctx context.Context, f frame) {
	before := g.session
	g.session.Seq, g.session.At = f.Seq, time.Now()
	switch f.Type {
	case "READY":
		g.session = g.newSession(f)
	case "MESSAGE_CREATE":
		g.session.Last = max(g.session.Last, idOf(f.Data))
	}
	t := g.intake.events.Begin(g.session)
	defer t.Release()
	defer func() {
		if p := recover(); p != nil {
			g.log.Error("a Discord event could not be handled", "event", f.Type, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	switch f.Type {
	case "READY":
		g.stands()
		g.intake.search(ctx, t, before.since(), f.Data)
	case "RESUMED":
		again := g.heard
		g.stands()
		if again {
			g.intake.lookBack()
		}
	default:
		if err := g.intake.event(ctx, t, f.Type, f.Data); err != nil {
			g.log.Warn("a Discord event can't be read", "event", f.Type, "err", err)
		}
	}
}

// newSession decodes a READY. Without a resume address the login address is used.
func (g *gateway) newSession(f frame) session {
	var said struct {
		ID     string `json:"session_id"`
		Resume string `json:"resume_gateway_url"`
	}
	_ = json.Unmarshal(f.Data, &said) // without an id only resuming is lost
	s := session{ID: said.ID, Seq: f.Seq, URL: g.login, Intents: int(g.intent), At: time.Now(), Last: g.session.Last}
	if u, err := url.Parse(said.Resume); err == nil && u.Host != "" && (u.Scheme == "wss" || u.Scheme == "ws") {
		s.URL = said.Resume
	}
	return s
}

// idOf returns the id of an event's object, or 0.
func idOf(raw []byte) uint64 {
	var o struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(raw, &o) // a malformed object has no id
	return snowflake(o.ID)
}

func (g *gateway) stands() {
	g.ready, g.heard = time.Now(), true
	g.log.Info("connected to Discord's gateway")
}
