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

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"
)

const (
	writeTime = 10 * time.Second
	closeTime = time.Second // for Discord to answer a close frame
	mostFrame = 64 << 20    // bytes: a large server is described in one

	// keepSession is the code that connections are closed with: 1000 and 1001 would end the session (DR-15).
	keepSession = 4000
)

// How a connection ends, beyond what the network does.
var (
	errReconnect = errors.New("the server asks for a new connection")
	errZombie    = errors.New("no answer to a heartbeat")
	errSilent    = errors.New("no answer in time")
)

// invalid is op 9: the session is over, or can be resumed.
type invalid struct{ resumable bool }

func (i invalid) Error() string {
	return fmt.Sprintf("Discord ended the session; it can be resumed: %t", i.resumable)
}

// Operations of the gateway, in Discord's numbers.
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

// link is one connection to the gateway. The library's own is not used: it can't resume a session of another process, may
// lock itself up over op 7, and answers op 9 with logins at once, which can spend a day's in seconds (DR-15, DR-17).
type link struct {
	ws      *websocket.Conn
	writing sync.Mutex // the WebSocket takes one writer at a time
	acked   atomic.Bool
	seq     atomic.Int64 // of the newest event
}

// dialLink opens a connection to an address, within ctx.
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
	hasty := *d // the handshake waits for its server, and not for ctx to be canceled
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
		_ = res.Body.Close() // of a refusal; the library has read what it shows of it
	}
	var late net.Error
	switch {
	case err != nil && (errors.As(err, &late) && late.Timeout() || errors.Is(ctx.Err(), context.DeadlineExceeded)):
		return nil, fmt.Errorf("%w: %w", errSilent, err)
	case err != nil:
		return nil, fmt.Errorf("connect to Discord's gateway: %w", err)
	}
	ws.SetReadLimit(mostFrame)
	ws.SetCloseHandler(func(int, string) error { return nil }) // the answer could end the session
	l := &link{ws: ws}
	l.acked.Store(true)
	return l, nil
}

// frame is one message on the wire, either way.
type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int64           `json:"s,omitempty"`
	Type string          `json:"t,omitempty"`
}

// errUnreadable is the error of a frame that is none of the gateway's; the connection goes on.
var errUnreadable = errors.New("a Discord gateway frame can't be read")

// read returns the next frame.
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

func (l *link) write(op int, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("write to Discord's gateway: %w", err)
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	_ = l.ws.SetWriteDeadline(time.Now().Add(writeTime)) // fails with the connection, as the write then does
	if err := l.ws.WriteJSON(frame{Op: op, Data: raw}); err != nil {
		return fmt.Errorf("write to Discord's gateway: %w", err)
	}
	return nil
}

// hello reads how often to send heartbeats.
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

// identify logs in, which begins a session.
func (l *link) identify(token string, intents discordgo.Intent) error {
	type properties struct {
		OS      string `json:"os"`
		Browser string `json:"browser"`
		Device  string `json:"device"`
	}
	return l.write(opIdentify, struct {
		Token      string           `json:"token"`
		Properties properties       `json:"properties"`
		Intents    discordgo.Intent `json:"intents"`
	}{token, properties{runtime.GOOS, "parley", "parley"}, intents})
}

// resume takes up a session behind an event.
func (l *link) resume(token string, s session) error {
	l.seq.Store(s.Seq)
	return l.write(opResume, struct {
		Token   string `json:"token"`
		Session string `json:"session_id"`
		Seq     int64  `json:"seq"`
	}{token, s.ID, s.Seq})
}

// heartbeat tells Discord which event came last.
func (l *link) heartbeat() error {
	var last *int64
	if seq := l.seq.Load(); seq > 0 {
		last = &seq
	}
	return l.write(opHeartbeat, last)
}

// beat sends heartbeats until ctx is done, and returns an error when one isn't answered before the next (DR-14).
func (l *link) beat(ctx context.Context, every time.Duration) error {
	for wait := rand.N(every); pause(ctx, wait); wait = every {
		if !l.acked.Swap(false) {
			return errZombie
		}
		if err := l.heartbeat(); err != nil {
			return err
		}
	}
	return nil
}

// leave asks Discord to close the connection and keep the session. The reader ends soon after, whatever comes.
func (l *link) leave() {
	code := websocket.FormatCloseMessage(keepSession, "")
	_ = l.ws.WriteControl(websocket.CloseMessage, code, time.Now().Add(closeTime)) // if it fails, the connection is gone
	_ = l.ws.SetReadDeadline(time.Now().Add(closeTime))
}
