package discord

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// frame is what a server sends.
func frame(op byte, payload string) []byte {
	b := []byte{0x80 | op}
	switch n := len(payload); {
	case n < 126:
		b = append(b, byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 127), uint64(n))
	}
	return append(b, payload...)
}

const handshake = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"

// chunked is a connection that gives n bytes at a time.
type chunked struct {
	net.Conn
	r io.Reader
	n int
}

func (c chunked) Read(p []byte) (int, error) { return c.r.Read(p[:min(len(p), c.n)]) }
func (c chunked) Close() error               { return nil }

func TestWire(t *testing.T) {
	event := string(frame(1, `{"op":0,"t":"X","d":"`+strings.Repeat("x", 70000)+`"}`)) +
		string(frame(1, `{"op":0,"t":"Y","d":"`+strings.Repeat("y", 300)+`"}`))
	hello := string(frame(1, `{"op":10,"d":{"heartbeat_interval":41250}}`)) + string(frame(9, "ping"))
	over := string(frame(1, `{"op":0,"t":"AFTER"}`))
	for name, c := range map[string]struct {
		last string
		pass bool
		want error
	}{
		"op 7":             {string(frame(1, `{"op":7,"d":null}`)), false, errReconnect},
		"op 9":             {string(frame(1, `{"d":false,"t":null,"op":9}`)), false, invalid{}},
		"op 9, resumable":  {string(frame(1, `{"op":9,"d":true}`)), false, invalid{resumable: true}},
		"close":            {string(frame(8, "\x0f\xac")), true, closeCode(4012)},
		"close, wordless":  {string(frame(8, "")), true, nil},
		"not JSON":         {string(frame(1, `nothing`)), true, nil},
		"too large":        {"\x81\x7f\x00\x00\x00\x01\x00\x00\x00\x00", false, errUnhelpful},
		"op 7 in an event": {string(frame(1, `{"op":0,"d":{"op":7}}`)), true, nil},
	} {
		for _, n := range []int{1, 2, 3, 7, 4096, 1 << 20} {
			sent := handshake + hello + event + c.last + over
			w := newWire(chunked{r: strings.NewReader(sent), n: n})
			got, err := io.ReadAll(w)
			if c.pass && (string(got) != sent || err != nil) {
				t.Errorf("%s in chunks of %d: %d of %d bytes, %v", name, n, len(got), len(sent), err)
			}
			// Where a frame is held back, its last byte at least is.
			if at := len(sent) - len(over); !c.pass && (len(got) >= at || len(got) < at-len(c.last) || !errors.Is(err, c.want)) {
				t.Errorf("%s in chunks of %d: %d bytes, %v", name, n, len(got), err)
			}
			if why := w.ended(); !errors.Is(why, c.want) {
				t.Errorf("%s in chunks of %d: ended by %v", name, n, why)
			}
			if every, at := w.beats(); every != 41250*time.Millisecond || at.IsZero() {
				t.Errorf("%s in chunks of %d: beats every %v", name, n, every)
			}
			if _, err := w.Write([]byte("x")); c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%s: written after the end: %v", name, err)
			}
			if c.want == nil {
				break // its Write needs a connection
			}
		}
	}
}

func (c chunked) SetWriteDeadline(time.Time) error { return nil }
func (c chunked) Write(p []byte) (int, error)      { return len(p), nil }

func FuzzScanner(f *testing.F) {
	f.Add([]byte(handshake+string(frame(1, `{"op":9,"d":false}`))), 3)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		if n <= 0 {
			return
		}
		var whole, parts [][]byte
		collect := func(to *[][]byte) func(byte, uint64, []byte) bool {
			return func(_ byte, size uint64, p []byte) bool {
				*to = append(*to, bytes.Clone(p))
				return size > mostFrame
			}
		}
		var one, many scanner
		one.read(b, collect(&whole))
		for rest, stop := b, false; len(rest) > 0 && !stop; {
			k := min(n, len(rest))
			_, stop = many.read(rest[:k], collect(&parts))
			rest = rest[k:]
		}
		if len(whole) != len(parts) {
			t.Errorf("%d frames, in chunks %d", len(whole), len(parts))
		}
	})
}

func TestRoutes(t *testing.T) {
	for path, want := range map[string]route{
		"users/@me":                         {"GET /users/@me", ""},
		"channels/12/messages/34":           {"GET /channels/{id}/messages/{id}", "12"},
		"channels/12/messages?limit=1&a=34": {"GET /channels/{id}/messages", "12"},
	} {
		if got := routeOf("GET", path); got != want {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

func TestResumeAddress(t *testing.T) {
	g := &gateway{login: "wss://gateway.discord.gg"}
	g.log = New(Options{}).log
	for _, c := range []struct{ said, want string }{
		{"", "wss://gateway.discord.gg"},
		{"https://evil.example", "wss://gateway.discord.gg"},
		{"wss://gateway-us-east1-b.discord.gg", "wss://gateway-us-east1-b.discord.gg"},
		{"", "wss://gateway-us-east1-b.discord.gg"}, // RESUMED tells none
	} {
		if g.begun(c.said); g.target() != c.want {
			t.Errorf("%q: %s", c.said, g.target())
		}
	}
}
