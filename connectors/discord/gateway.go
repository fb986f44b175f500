package discord

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"parley/connectors"
	"parley/internal/rest"
)

const (
	silentTime  = 15 * time.Second // maximum silence before READY or RESUMED
	healthyTime = 10 * time.Second // a connection that lasted this long resets the back-off
	steadyTime  = 10 * time.Minute // a session that lasted this long resets the login back-off
	mostResumes = 2                // consecutive attempts
	resumeCap   = time.Minute      // longest back-off
	loginCap    = 10 * time.Minute // longest login back-off: Discord allows 1000 logins a day
	// With several shards the longest login back-off is a multiple, because the day's logins are for all of them.
	mostLoginCaps = 4
)

// gateway maintains the connection of one shard to Discord's gateway: it decides when to connect, whether to resume, and
// when to give up. It belongs to the goroutine of run, so nothing in it is locked.
//
// Three counters bound the cost of a failing connection: resumes decides when a session is given up, failures
// determines the pause between connections, and logins the pause between logins. The last one is separate because a
// login that succeeds but is followed by a loss within minutes would otherwise be repeated until the day's logins are
// used up.
type gateway struct {
	client        *client
	dialer        *websocket.Dialer
	intake        *intake
	queue         *loginQueue
	standing      *standing
	shard, shards int
	fixed         bool // the settings give the number of shards
	token         string
	intent        discordgo.Intent
	presence      string
	log           *slog.Logger

	session  session   // as of the last received event; without an ID it can't be resumed
	login    string    // where to log in
	turn     *login    // of a connection that is to log in
	ready    time.Time // when the connection was ready; zero if it was not
	heard    bool      // there was a connection before
	resuming bool      // the connection is to resume a session
	resumes  int       // consecutive failed resumes
	begun    time.Time // when the last login was sent
	logins   int       // consecutive logins with a short-lived session
	failures int       // consecutive failed connections
}

// run keeps a connection until ctx is done, when it returns nil. Its error is a [connectors.Fatal] if reconnecting
// can't help, or errFull.
func (g *gateway) run(ctx context.Context) error {
	for {
		err := g.connect(ctx)
		g.standing.set(g.shard, false)
		if ctx.Err() != nil {
			return nil
		}
		if fatal := g.hopeless(err); fatal != nil {
			return fatal
		}
		wait := g.next(err)
		g.log.Warn("the connection to Discord's gateway ended", "again", wait, "resume", g.session.ID != "", "err", err)
		if rest.For(ctx, wait) != nil {
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
	// From here on a login is needed. The messages that the lost session should have delivered are searched for after
	// it.
	if endsSession(err) || g.resumes >= mostResumes {
		g.session.ID, g.resumes = "", 0
	}
	wait := backOff(g.failures, resumeCap)
	if errors.As(err, new(invalid)) {
		// Discord asks for a random pause of one to five seconds after op 9.
		wait = max(wait, time.Second+rand.N(4*time.Second))
	}
	if g.session.ID == "" {
		wait = max(wait, backOff(g.logins, loginCap*time.Duration(min(g.shards, mostLoginCaps))))
	}
	return wait
}

// connect runs one connection and returns the reason for its end. A resume uses the address that the session's READY
// named; a login uses the general one, which is looked up each time because it can change.
func (g *gateway) connect(ctx context.Context) error {
	g.ready, g.resuming = time.Time{}, g.session.ID != ""
	address := g.session.URL
	if !g.resuming {
		turn, err := g.queue.enter(ctx, g.shard)
		if err != nil {
			return err
		}
		defer turn.leave(ctx)
		g.turn, g.login, address = turn, turn.url, turn.url
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

// hopeless returns err as a [connectors.Fatal] if reconnecting can't help; else nil. If the bot needs more shards, and
// the settings leave their number to Discord, it returns errFull.
func (g *gateway) hopeless(err error) error {
	if errors.Is(err, errRevoked) {
		return connectors.Fatal{Err: errRevoked}
	}
	code := codeOf(err)
	text := fatalCodes[code]
	switch {
	case code == tooFewShards && !g.fixed:
		return errFull
	case code == tooFewShards:
		text = fmt.Sprintf("the bot is in too many servers for %d shards; set connectors.discord.shards to auto, or to a higher number", g.shards)
	case code == invalidShard:
		text = fmt.Sprintf("Discord rejected shard %d of %d; please report this bug", g.shard, g.shards)
	case text == "":
		return nil
	}
	return connectors.Fatal{Err: fmt.Errorf("%s (close code %d)", text, code)}
}

// backOff returns the pause after n failures: it doubles from one second to most, with jitter. The bound of n prevents
// an overflow of the shift.
func backOff(n int, most time.Duration) time.Duration {
	return jitter(min(time.Second<<min(n, 12), most))
}

// portal is where the owner of a bot changes its settings.
const portal = "https://discord.com/developers/applications"

// fatalCodes are the close codes that forbid reconnecting, according to Discord's documentation, and the remedies.
var fatalCodes = map[int]string{
	4004: errRevoked.Error(),
	4012: "Discord no longer speaks this version of its gateway; update Parley",
	4013: "Discord does not know the requested intents; update Parley",
	4014: "Discord rejected the Message Content intent; switch it on at " + portal +
		" (your application, Bot, Privileged Gateway Intents, Message Content Intent)",
}

// The close codes about shards.
const (
	invalidShard = 4010
	tooFewShards = 4011
)

// endsSession reports whether the session can't be resumed after err: because it was closed normally (1000, 1001), or
// because Discord does not accept the login, the sequence number or the age of the session (4003, 4005, 4007, 4009).
// After a network error it can be resumed.
func endsSession(err error) bool {
	var i invalid
	if errors.As(err, &i) {
		return !i.resumable
	}
	switch codeOf(err) {
	case 1000, 1001, 4003, 4005, 4007, 4009:
		return true
	}
	return false
}

// codeOf returns the code that Discord closed the connection with, or 0.
func codeOf(err error) int {
	var w *websocket.CloseError
	if errors.As(err, &w) {
		return w.Code
	}
	return 0
}
