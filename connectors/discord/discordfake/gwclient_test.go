package discordfake_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"parley/connectors/discord/discordfake"
	"parley/internal/require"
)

const allIntents = discordfake.IntentGuilds | discordfake.IntentGuildMessages | discordfake.IntentDMs |
	discordfake.IntentMessageContent | discordfake.IntentGuildTyping | discordfake.IntentDMTyping

// frame is one gateway payload.
type frame struct {
	Op   int             `json:"op"`
	Seq  int             `json:"s"`
	Type string          `json:"t"`
	Data json.RawMessage `json:"d"`
}

func (f frame) field(name string) any {
	var o map[string]any
	_ = json.Unmarshal(f.Data, &o)
	return o[name]
}

// gw is a plain client of the gateway.
type gw struct {
	t  *testing.T
	ws *websocket.Conn
}

func connect(t *testing.T, mem *memNet) *gw {
	t.Helper()
	g := connectTo(t, mem, "ws://gateway.test/?v=10&encoding=json")
	if hello := g.next(); hello.Op != 10 || hello.field("heartbeat_interval") == nil {
		t.Fatalf("hello: %+v", hello)
	}
	return g
}

// connectTo reads nothing yet.
func connectTo(t *testing.T, mem *memNet, url string) *gw {
	t.Helper()
	dialer := websocket.Dialer{NetDialContext: mem.Dial}
	ws, _, err := dialer.DialContext(t.Context(), url, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = ws.Close() })
	return &gw{t: t, ws: ws}
}

func (g *gw) send(format string, args ...any) {
	g.t.Helper()
	require.NoError(g.t, g.ws.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, format, args...)))
}

func (g *gw) next() frame {
	g.t.Helper()
	var f frame
	require.NoError(g.t, g.ws.ReadJSON(&f))
	return f
}

// closed reads to the end and returns the close code.
func (g *gw) closed() int {
	g.t.Helper()
	for {
		_, _, err := g.ws.ReadMessage()
		var closed *websocket.CloseError
		switch {
		case errors.As(err, &closed):
			return closed.Code
		case err != nil:
			g.t.Fatal(err)
		}
	}
}

func (g *gw) identify(token string, intents discordfake.Intents) {
	g.t.Helper()
	g.send(`{"op":2,"d":{"token":%q,"intents":%d,"properties":{"os":"linux"},"shard":[0,1]}}`, token, intents)
}

// login identifies and skips the greeting; it returns the session's id.
func login(t *testing.T, mem *memNet, intents discordfake.Intents) (*gw, string) {
	t.Helper()
	g := connect(t, mem)
	g.identify("Bot fake-token", intents)
	ready := g.next()
	if ready.Type != "READY" {
		t.Fatalf("first event %+v", ready)
	}
	if intents&discordfake.IntentGuilds != 0 {
		if guild := g.next(); guild.Type != "GUILD_CREATE" || guild.field("unavailable") != false {
			t.Fatalf("second event %+v", guild)
		}
	}
	id, _ := ready.field("session_id").(string)
	return g, id
}

func (g *gw) resume(session string, seq int) {
	g.t.Helper()
	g.send(`{"op":6,"d":{"token":"fake-token","session_id":%q,"seq":%d}}`, session, seq)
}

// bubble runs a test with one room on an in-memory network.
func bubble(t *testing.T, test func(t *testing.T, s *discordfake.Server, mem *memNet, channel, ann string), opts ...discordfake.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, channel, ann := room(t, opts...)
		test(t, s, serve(t, s), channel, ann)
	})
}

func (g *gw) bye(code int) {
	_ = g.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(time.Second))
}

// drain reads until the connection ends, as every client does.
func drain(g *gw) {
	for {
		if _, _, err := g.ws.ReadMessage(); err != nil {
			return
		}
	}
}
