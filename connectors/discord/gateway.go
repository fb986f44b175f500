package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"runtime/debug"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"parley/connectors"
)

const (
	openTime   = 30 * time.Second // from the dial to the first event
	steadyTime = 10 * time.Minute // a connection that stood for so long begins afresh
	resumeCap  = time.Minute      // of the pauses
	loginCap   = 10 * time.Minute // of the pauses before a new login: 1000 are allowed in a day (DR-17)
	loginGap   = 5500 * time.Millisecond
	// A heartbeat's answer must come before the next is due (DR-14), so an interval and three quarters after the last.
	silence = 1.75

	zombieClose = 4000 // any but 1000 and 1001 leaves the session resumable
)

// gateway keeps a connection to Discord's gateway. The library speaks the protocol; when to connect, whether to resume
// and when to give up is decided here.
//
// The library begins to beat at once instead of after a random part of the interval.
type gateway struct {
	client *client
	dial   connectors.Dialer
	intake *intake
	token  string
	intent discordgo.Intent
	log    *slog.Logger

	session  *discordgo.Session // nil if there is nothing to resume
	loggedIn time.Time          // when the last login was sent
	reached  bool               // the last connection got an answer of the gateway
	failures int                // connections in a row that did not stand

	mu     sync.Mutex
	wire   *wire     // the newest
	login  string    // where to log in
	resume string    // where to resume; empty before the first READY of the session
	ready  time.Time // when the connection was ready; zero if it was not
}

// run returns when ctx is done, or with what no new connection can mend.
func (g *gateway) run(ctx context.Context) error {
	for {
		err := g.connect(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if fatal := hopeless(err); fatal != nil {
			return fatal
		}
		wait := g.next(err)
		g.log.Warn("the connection to Discord's gateway ended", "again", wait, "resume", g.session != nil, "err", err)
		if !pause(ctx, wait) {
			return nil
		}
	}
}

// next decides how to go on after the end of a connection, and how long to wait.
func (g *gateway) next(err error) time.Duration {
	g.mu.Lock()
	ready, resume := g.ready, g.resume
	g.mu.Unlock()
	if g.failures++; !ready.IsZero() && time.Since(ready) >= steadyTime {
		g.failures = 0
	}
	if resume == "" || endsSession(err) {
		g.session = nil
	}
	most := resumeCap
	if g.session == nil && g.reached {
		most = loginCap
	}
	wait := jitter(min(time.Second<<min(g.failures, 10), most))
	if errors.As(err, new(invalid)) {
		wait = max(wait, time.Second+rand.N(4*time.Second)) // as Discord asks for (DR-15)
	}
	if g.session == nil {
		wait = max(wait, time.Until(g.loggedIn.Add(loginGap)))
	}
	return wait
}

// connect returns when a connection has ended, with the reason.
func (g *gateway) connect(ctx context.Context) error {
	g.reached = false
	if g.session == nil {
		if err := g.permit(ctx); err != nil {
			return err
		}
		g.mu.Lock()
		g.resume = ""
		g.mu.Unlock()
		g.session = g.newSession(ctx)
	}
	w, err := g.open(ctx)
	if err != nil {
		return err
	}
	return g.watch(ctx, w)
}

// permit waits until a login is allowed, and learns where (DR-05, DR-17).
func (g *gateway) permit(ctx context.Context) error {
	for {
		var said struct {
			URL    string `json:"url"`
			Shards int    `json:"shards"`
			Limit  *struct {
				Remaining int `json:"remaining"`
				After     int `json:"reset_after"` // milliseconds
			} `json:"session_start_limit"`
		}
		wait, why := time.Duration(0), ""
		var h held
		switch err := g.client.do(ctx, http.MethodGet, "gateway/bot", nil, &said); {
		case errors.As(err, &h):
			wait, why = h.after, "Discord asks to wait before the gateway's address is asked for again"
		case err != nil:
			return fmt.Errorf("ask for the gateway's address: %w", err)
		case said.Limit != nil && said.Limit.Remaining <= 0:
			wait, why = time.Duration(said.Limit.After)*time.Millisecond, "the day's logins are spent"
		}
		if wait <= 0 {
			if said.Shards > 1 {
				g.log.Warn("Discord recommends shards; there is one", "shards", said.Shards)
			}
			g.mu.Lock()
			g.login = said.URL
			g.mu.Unlock()
			return nil
		}
		g.log.Error("the bot is not connected: "+why, "wait", wait)
		if !pause(ctx, wait+time.Second) {
			return ctx.Err()
		}
	}
}

// open lets the library connect, for a limited time: it would wait for ever.
func (g *gateway) open(ctx context.Context) (*wire, error) {
	g.mu.Lock()
	g.ready, g.wire = time.Time{}, nil
	g.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		if w := g.newest(); w != nil {
			_ = w.Close()
		}
	})
	defer stop()
	err := g.session.Open()
	if errors.Is(err, errElsewhere) {
		err = g.session.Open()
	}
	w := g.newest()
	if w != nil {
		every, at := w.beats()
		if g.reached = every > 0; g.reached {
			g.loggedIn = at
		}
	}
	switch {
	case err == nil:
		return w, nil
	case w == nil:
		return nil, fmt.Errorf("connect to the gateway: %w", err)
	}
	_ = w.Close()
	if why := w.ended(); why != nil {
		return nil, why
	}
	return nil, fmt.Errorf("connect to the gateway: %w", err)
}

var errZombie = errors.New("Discord did not answer a heartbeat")

// watch returns when w has ended, and ends it when it is a zombie or ctx is done.
func (g *gateway) watch(ctx context.Context, w *wire) error {
	for {
		every, last := w.beats()
		due := last.Add(time.Duration(float64(every) * silence))
		select {
		case <-w.done:
			if why := w.ended(); why != nil {
				return why
			}
			return errors.New("the connection broke")
		case <-ctx.Done():
			g.leave(w, websocket.CloseNormalClosure) // nobody resumes it
			return nil
		case <-time.After(time.Until(due)):
			if _, now := w.beats(); now.After(last) {
				continue
			}
			g.leave(w, zombieClose)
			return errZombie
		}
	}
}

// leave closes w with a code, unless that is happening already, and returns when it is closed.
func (g *gateway) leave(w *wire, code int) {
	if w.leave() {
		_ = g.session.CloseWithCode(code) // it is over, whatever comes
	}
	<-w.done
}

// event is called by the library, which holds locks: it only takes note.
func (g *gateway) event(ctx context.Context, kind string, raw json.RawMessage) {
	defer func() {
		if p := recover(); p != nil {
			g.log.Error("an event of Discord's could not be handled", "event", kind, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	switch kind {
	case "READY":
		var said struct {
			Resume string `json:"resume_gateway_url"`
		}
		_ = json.Unmarshal(raw, &said) // without it the session is resumed where it began
		g.begun(said.Resume)
		g.intake.catchUp(ctx)
	case "RESUMED":
		g.begun("")
		g.intake.catchUp(ctx)
	case "MESSAGE_CREATE":
		m, err := parseMessage(raw)
		if err != nil {
			g.log.Warn("an event of Discord's can't be read", "event", kind, "err", err)
			return
		}
		g.intake.take(ctx, m)
	case "INTERACTION_CREATE":
		if err := g.intake.pressed(ctx, raw); err != nil {
			g.log.Warn("an event of Discord's can't be read", "event", kind, "err", err)
		}
	default:
		if err := g.intake.changed(ctx, kind, raw); err != nil {
			g.log.Warn("an event of Discord's can't be read", "event", kind, "err", err)
		}
	}
}

func (g *gateway) begun(resume string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ready = time.Now()
	if u, err := url.Parse(resume); err == nil && u.Host != "" && (u.Scheme == "wss" || u.Scheme == "ws") {
		g.resume = resume
	} else if g.resume == "" {
		g.resume = g.login
	}
	g.log.Info("connected to Discord's gateway")
}
