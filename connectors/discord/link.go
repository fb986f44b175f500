package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/rest"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"
)

const (
	// A frame that can't be written within this time ends the connection: a half-open TCP connection would block the
	// heartbeats for minutes.
	writeTime = 10 * time.Second
	closeTime = time.Second // wait for Discord's close frame
	mostFrame = 64 << 20    // bytes: a single frame describes a whole server

	// keepSession is the close code that we send; 1000 and 1001 would end the session.
	keepSession = 4000
)

// The reasons for a connection's end besides network errors.
var (
	errReconnect = errors.New("the server asks for a new connection")
	errZombie    = errors.New("no answer to a heartbeat")
	errSilent    = errors.New("no answer in time")
)

// invalid is op 9: the session is over, unless it is resumable.
type invalid struct{ resumable bool }

func (i invalid) Error() string {
	return fmt.Sprintf("Discord ended the session; it can be resumed: %t", i.resumable)
}

// The gateway's opcodes.
const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opResume         = 6
	opReconnect      = 7
	opInvalidSession = 9
	opHello          = 10
	opHeartbeatAck   = 11
)

// link is one connection to the gateway. The library's own is not used: it can't resume another process's session, can
// deadlock on op 7, and responds to op 9 with immediate logins, which can use up a day's quota in seconds.
//
// One goroutine reads, which is the one that calls serve. Another one sends heartbeats. Both write.
type link struct {
	ws      *websocket.Conn
	writing sync.Mutex // a WebSocket allows one writer at a time
	// acked is whether the last heartbeat was acknowledged. It begins as true, because nothing precedes the first
	// heartbeat.
	acked atomic.Bool
	seq   atomic.Int64 // of the newest event
}

// dialLink opens a connection to an address until ctx ends. The error is errSilent if the time was over, which
// [gateway.next] treats as a server that does not respond.
func dialLink(ctx context.Context, d *websocket.Dialer, address string) (*link, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("connect to Discord's gateway: %w", err)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	u.RawQuery = url.Values{"v": {apiVersion}, "encoding": {"json"}}.Encode()
	stop := func() bool { return true }
	// During the handshake the library observes the deadline of ctx, but not its cancellation: a server that accepts
	// the connection and stays silent would delay the shutdown. So the end of ctx closes the connection.
	hasty := *d
	hasty.NetDialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := d.NetDialContext(ctx, network, addr)
		if err == nil {
			stop = context.AfterFunc(ctx, func() { _ = c.Close() })
		}
		return c, err
	}
	ws, res, err := hasty.DialContext(ctx, u.String(), nil)
	stop()
	if res != nil && err != nil {
		// The library has already read the visible part of a refusal.
		_ = res.Body.Close()
	}
	var late net.Error
	switch {
	case err != nil && (errors.As(err, &late) && late.Timeout() || errors.Is(ctx.Err(), context.DeadlineExceeded)):
		return nil, fmt.Errorf("%w: %w", errSilent, err)
	case err != nil:
		return nil, fmt.Errorf("connect to Discord's gateway: %w", err)
	}
	ws.SetReadLimit(mostFrame)
	// The default handler answers a close frame with the same code. With 1000 or 1001 that would end the session, which
	// then could not be resumed.
	ws.SetCloseHandler(func(int, string) error { return nil })
	l := &link{ws: ws}
	l.acked.Store(true)
	return l, nil
}

// frame is one message of the gateway protocol, in either direction.
type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int64           `json:"s,omitempty"`
	Type string          `json:"t,omitempty"`
}

// errUnreadable is the error of a malformed frame; the connection continues.
var errUnreadable = errors.New("a Discord gateway frame can't be read")

// read returns the next frame. After errUnreadable the connection can still be used; after any other error it can't.
func (l *link) read() (f frame, err error) {
	_, raw, err := l.ws.ReadMessage()
	if err != nil {
		return f, fmt.Errorf("read from Discord's gateway: %w", err)
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return f, nil
}

// write sends a frame. It is safe for concurrent use, as it takes the writing lock, and blocks for at most writeTime.
func (l *link) write(op int, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("write to Discord's gateway: %w", err)
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	_ = l.ws.SetWriteDeadline(time.Now().Add(writeTime)) // if it fails, the write fails too
	if err := l.ws.WriteJSON(frame{Op: op, Data: raw}); err != nil {
		return fmt.Errorf("write to Discord's gateway: %w", err)
	}
	return nil
}

// hello reads the first frame, which must be the one with the heartbeat interval.
func (l *link) hello() (every time.Duration, err error) {
	f, err := l.read()
	if err != nil {
		return 0, err
	}
	var said struct {
		Every int `json:"heartbeat_interval"` // milliseconds
	}
	if f.Op != opHello || json.Unmarshal(f.Data, &said) != nil || said.Every <= 0 {
		return 0, fmt.Errorf("the connection began with op %d instead of a hello", f.Op)
	}
	return time.Duration(said.Every) * time.Millisecond, nil
}

// identification logs in and creates a session.
type identification struct {
	Token      string           `json:"token"`
	Properties properties       `json:"properties"`
	Intents    discordgo.Intent `json:"intents"`
	Shard      [2]int           `json:"shard"` // which of how many
	Presence   *presence        `json:"presence,omitempty"`
}

type properties struct {
	OS      string `json:"os"`
	Browser string `json:"browser"`
	Device  string `json:"device"`
}

// presence is how the bot appears in lists of members.
type presence struct {
	Since      *int64     `json:"since"`
	Activities []activity `json:"activities"`
	Status     string     `json:"status"`
	AFK        bool       `json:"afk"`
}

type activity struct {
	Name  string `json:"name"` // required, but not shown
	Type  int    `json:"type"`
	State string `json:"state"`
}

// presenceOf returns the presence with a line of text, or nil without one: Discord then shows the bot as online.
func presenceOf(line string) *presence {
	if line == "" {
		return nil
	}
	const custom = 4
	return &presence{Activities: []activity{{"Custom Status", custom, line}}, Status: "online"}
}

// identify logs in.
func (l *link) identify(as identification) error {
	as.Properties = properties{runtime.GOOS, "parley", "parley"}
	return l.write(opIdentify, as)
}

// resume continues a session after its last received event.
func (l *link) resume(token string, s session) error {
	l.seq.Store(s.Seq)
	return l.write(opResume, struct {
		Token   string `json:"token"`
		Session string `json:"session_id"`
		Seq     int64  `json:"seq"`
	}{token, s.ID, s.Seq})
}

// heartbeat sends a heartbeat with the last received sequence number.
func (l *link) heartbeat() error {
	var last *int64
	if seq := l.seq.Load(); seq > 0 {
		last = &seq
	}
	return l.write(opHeartbeat, last)
}

// beat sends heartbeats until ctx is done. It returns errZombie when one is not acknowledged before the next: then the
// connection is dead, although TCP may not notice it for minutes. As Discord's documentation asks, the first heartbeat
// comes after a random part of the interval, so that many clients don't return at the same time after an outage.
func (l *link) beat(ctx context.Context, every time.Duration) error {
	for wait := rand.N(every); rest.For(ctx, wait) == nil; wait = every {
		if !l.acked.Swap(false) {
			return errZombie
		}
		if err := l.heartbeat(); err != nil {
			return err
		}
	}
	return nil
}

// leave asks Discord to close the connection but keep the session. The deadline ends the reader even if Discord doesn't
// respond.
func (l *link) leave() {
	code := websocket.FormatCloseMessage(keepSession, "")
	_ = l.ws.WriteControl(websocket.CloseMessage, code, time.Now().Add(closeTime)) // a failure means that the connection is gone
	_ = l.ws.SetReadDeadline(time.Now().Add(closeTime))
}
