package discord

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"
)

const (
	silentTime  = 15 * time.Second // maximum silence before READY or RESUMED
	healthyTime = 10 * time.Second // a connection that lasted this long resets the back-off
	steadyTime  = 10 * time.Minute // a session that lasted this long resets the login back-off
	mostResumes = 2                // consecutive attempts
	resumeCap   = time.Minute      // longest back-off
	loginCap    = 10 * time.Minute // longest login back-off: Discord allows 1000 logins a day
	// loginGap is the time between two logins. Discord allows one in five seconds, and answers an earlier one with op
	// 9.
	loginGap = 5500 * time.Millisecond
)

// gateway maintains a connection to Discord's gateway: it decides when to connect, whether to resume, and when to give
// up. It belongs to the goroutine of run, so nothing in it is locked.
//
// Three counters bound what a failing connection costs: resumes decides when a session is given up, failures determines
// the pause between connections, and logins the pause between logins. The last one is separate because a login that
// succeeds but is followed by a loss within minutes would otherwise be repeated until the day's logins are used up.
type gateway struct {
	client *client
	dialer *websocket.Dialer
	intake *intake
	token  string
	intent discordgo.Intent
	log    *slog.Logger

	session  session   // as of the last received event; without an ID it can't be resumed
	login    string    // where to log in
	ready    time.Time // when the connection was ready; zero if it was not
	heard    bool      // there was a connection before
	resuming bool      // the connection is to resume a session
	resumes  int       // consecutive failed resumes
	begun    time.Time // when the last login was sent
	logins   int       // consecutive logins with a short-lived session
	failures int       // consecutive failed connections
}

// run keeps a connection until ctx is done, when it returns nil. Its error is a [connectors.Fatal], after which
// reconnecting can't help.
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
		g.log.Warn("the connection to Discord's gateway ended", "again", wait, "resume", g.session.ID != "", "err", err)
		if !pause(ctx, wait) {
			return nil
		}
	}
}

// next decides how to continue after a connection has ended, and returns the back-off. A resume is tried twice, but
// only once if the server does not respond: then either the address is dead or the server does not know the session.
func (g *gateway) next(err error) time.Duration {
	g.failures++
	switch stood := !g.ready.IsZero(); {
	case stood:
		g.resumes = 0
		if time.Since(g.ready) >= healthyTime {
			g.failures = 0
		}
		if time.Since(g.begun) >= steadyTime {
			g.logins = 0
		}
	case g.resuming && errors.Is(err, errSilent):
		g.resumes = mostResumes
	case g.resuming:
		g.resumes++
	}
	// From here on a login is needed. What the lost session should have delivered is searched for after it.
	if endsSession(err) || g.resumes >= mostResumes {
		g.session.ID, g.resumes = "", 0
	}
	wait := backOff(g.failures, resumeCap)
	if errors.As(err, new(invalid)) {
		// Discord asks for a random pause of one to five seconds after op 9.
		wait = max(wait, time.Second+rand.N(4*time.Second))
	}
	if g.session.ID == "" {
		wait = max(wait, backOff(g.logins, loginCap), time.Until(g.begun.Add(loginGap)))
	}
	return wait
}

// backOff returns the pause after n failures: it doubles from one second to most, with jitter. The bound of n prevents
// an overflow of the shift.
func backOff(n int, most time.Duration) time.Duration {
	return jitter(min(time.Second<<min(n, 10), most))
}

// connect runs one connection and returns the reason for its end. A resume uses the address that the session's READY
// named; a login uses the general one, which is looked up each time because it can change.
func (g *gateway) connect(ctx context.Context) error {
	g.ready, g.resuming = time.Time{}, g.session.ID != ""
	address := g.session.URL
	if !g.resuming {
		if err := g.permit(ctx); err != nil {
			return err
		}
		address = g.login
	}
	opening, cancel := context.WithTimeout(ctx, silentTime)
	l, err := dialLink(opening, g.dialer, address)
	cancel()
	if err != nil {
		return err
	}
	defer l.ws.Close()
	return g.serve(ctx, l)
}

// permit waits until a login is allowed, and looks up the gateway's address. Discord permits 1000 logins a day, and
// resets the token of a bot that exceeds them; so it waits, however long, when none is left.
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
			wait, why = h.after, "Discord rate-limits requests for the gateway URL"
		case err != nil:
			return fmt.Errorf("get the Discord gateway URL: %w", err)
		case said.Limit != nil && said.Limit.Remaining <= 0:
			wait, why = time.Duration(said.Limit.After)*time.Millisecond, "today's logins are used up"
		}
		if wait <= 0 {
			if said.Shards > 1 {
				g.log.Warn("Discord recommends sharding, which is not supported", "shards", said.Shards)
			}
			g.login = said.URL
			return nil
		}
		g.log.Error("the bot is not connected: "+why, "wait", wait)
		if !pause(ctx, wait+time.Second) {
			return ctx.Err()
		}
	}
}
