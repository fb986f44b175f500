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
// resumable. The heartbeats' goroutine ends before it returns.
func (g *gateway) serve(ctx context.Context, l *link) error {
	ctx, end := context.WithCancelCause(ctx)
	// Whatever ends ctx first (the caller, the silence, a missed heartbeat) makes the reader fail through leave. Its
	// cause is the true reason; the reader's own error is only that the connection was closed.
	silent := time.AfterFunc(silentTime, func() { end(errSilent) })
	stop := context.AfterFunc(ctx, l.leave)
	var beats sync.WaitGroup
	every, err := g.begin(ctx, l)
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

// begin logs in or resumes the session, after Discord has sent its heartbeat interval. begun is set before the login is
// sent, because Discord counts it even if its answer is lost.
func (g *gateway) begin(ctx context.Context, l *link) (every time.Duration, err error) {
	if every, err = l.hello(); err != nil {
		return 0, err
	}
	if g.resuming {
		return every, l.resume(g.token, g.session)
	}
	g.begun = time.Now()
	g.logins++
	defer g.turn.sent(ctx)
	return every, l.identify(identification{Token: g.token, Intents: g.intent, Shard: [2]int{g.shard, g.shards}, Presence: presenceOf(g.presence)})
}

// listen reads frames until the connection ends, and returns the reason. An unreadable frame is skipped: ending the
// connection would only have it sent again. Until the connection is ready, each event restarts the silent timer,
// because a resume first replays the missed events.
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
			// READY and RESUMED have just set ready, which ends the supervision by this timer; from then on the
			// heartbeats notice a dead connection.
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

// dispatch processes one event. It never fails: an event that can't be read or makes the code panic is logged and
// counts as done, because a resume would deliver it again, and so on without end.
//
// Each event gets a ticket, also those without a message, so that the stored position advances in a quiet server. This
// function's hold of the ticket ends with it. Events that are queued for delivery add holds of their own.
func (g *gateway) dispatch(ctx context.Context, f frame) {
	// The position of a READY is that of the new session. since needs that of the old one, which it replaces.
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
		// After the first resume of a process there is nothing to look back at, because it knows no messages yet.
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

// newSession decodes a READY. Without a resume address, or with one that isn't a WebSocket's, the login address is
// used. Last is kept from the old session, so that a search that is interrupted now starts at the same message later.
func (g *gateway) newSession(f frame) session {
	var said struct {
		ID     string `json:"session_id"`
		Resume string `json:"resume_gateway_url"`
	}
	_ = json.Unmarshal(f.Data, &said) // without an id only resuming is lost
	s := session{ID: said.ID, Seq: f.Seq, URL: g.login, Intents: int(g.intent), Line: g.presence, Shards: g.shards, At: time.Now(), Last: g.session.Last}
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

// stands records that the connection is ready.
func (g *gateway) stands() {
	g.ready, g.heard = time.Now(), true
	g.standing.set(g.shard, true)
	g.log.Info("connected to Discord's gateway")
}
