package web

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/chat"
	"parley/internal/require"
)

const streamPath = "/api/conversations/c/messages/stream"

// sender sends the body of a message piece by piece.
type sender struct {
	t    *testing.T
	conn net.Conn
	resp chan *http.Response // what the gateway replies, nil if it only ends the connection
}

func startSending(t *testing.T, n network, path, from string, length int) *sender {
	t.Helper()
	c, err := n.dial("tcp", "127.0.0.1:8080")
	require.NoError(t, err)
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nX-Forwarded-For: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", path, from, length)
	require.NoError(t, err)
	s := &sender{t, c, make(chan *http.Response, 1)}
	go func() {
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			resp = nil
		}
		s.resp <- resp
	}()
	return s
}

// send fails once the gateway has ended the connection.
func (s *sender) send(body string) error {
	_, err := io.WriteString(s.conn, body)
	return err
}

func (s *sender) drip(every time.Duration, piece string) {
	for s.send(piece) == nil {
		time.Sleep(every)
	}
}

// ends returns the status that the sender gets within a time, 0 if there is none.
func (s *sender) ends(within time.Duration) int {
	select {
	case resp := <-s.resp:
		if resp != nil {
			return resp.StatusCode
		}
	case <-time.After(within):
	}
	return 0
}

func proxied(o *Options) { o.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }

func ignored(chat.Inbound) (chat.Accepted, error) { return chat.Accepted{}, nil }

// WB-15: senders who are slow hold nothing that others need, and are let go.
func TestSlowSendersLockNobodyOut(t *testing.T) {
	for name, piece := range map[string]string{"nothing": "", "a byte now and then": " ", "slowly": strings.Repeat(" ", 4<<10)} {
		for path, length := range map[string]int{streamPath: maxBody, "/api/conversations/c/choices/stream": maxChoice} {
			t.Run(name+path, func(t *testing.T) {
				serveOn(t, proxied, ignored, func(_ *Web, n network) {
					begun := time.Now()
					var slow []*sender
					for i := range 12 {
						s := startSending(t, n, path, fmt.Sprint("198.51.100.", i/2), length)
						if piece != "" {
							go s.drip(time.Second, piece)
						}
						slow = append(slow, s)
					}
					time.Sleep(5 * time.Second)
					image := `{"data":"` + strings.Repeat("A", maxImage/4*4-4) + `","mimeType":"image/png"}`
					body := `{"images":[` + image + "," + image + "," + image + "," + image + `]}` // 20 MB
					other := startSending(t, n, streamPath, "203.0.113.1", len(body))
					if err := other.send(body); err != nil {
						t.Error(err)
					}
					if status := other.ends(time.Second); status != http.StatusOK {
						t.Errorf("another is answered %d", status)
					}
					for _, s := range slow {
						if status := s.ends(time.Minute); status == http.StatusOK {
							t.Errorf("a slow one is answered %d", status)
						}
						_ = s.conn.Close()
					}
					if took := time.Since(begun); took > rateEvery+time.Second {
						t.Errorf("the slow ones were waited for %v", took)
					}
					time.Sleep(3 * time.Second) // they notice
				})
			})
		}
	}
}

// WB-15: a body at the minimum rate is read, for a minute at most.
func TestMinimumRate(t *testing.T) {
	for name, c := range map[string]struct{ second, seconds, want int }{
		"fast enough":  {rateBytes / 8, 40, http.StatusOK},
		"too slow":     {rateBytes / 12, 40, http.StatusRequestTimeout},
		"over too far": {rateBytes / 8, 70, http.StatusRequestTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			serveOn(t, nil, ignored, func(_ *Web, n network) {
				body := `{"text":"a"` + strings.Repeat(" ", c.second*c.seconds-12) + "}"
				s := startSending(t, n, streamPath, "", len(body))
				for ; len(body) > 0 && s.send(body[:c.second]) == nil; body = body[c.second:] {
					time.Sleep(time.Second)
				}
				if status := s.ends(time.Second); status != c.want {
					t.Errorf("it is answered %d", status)
				}
			})
		})
	}
}

// SE-11, WB-15: what has arrived of large bodies is bounded, of all and of one address; texts always are read; who sends
// nothing more makes room soon.
func TestUploadsAreBounded(t *testing.T) {
	serveOn(t, proxied, ignored, func(w *Web, n network) {
		stall := func(from string) *sender {
			s := startSending(t, n, streamPath, from, maxBody)
			if err := s.send(`{"x":[` + strings.Repeat(`"`+strings.Repeat("x", 1<<20)+`",`, 20)); err != nil {
				t.Error(err)
			}
			return s
		}
		var held []*sender
		for i := range 4 {
			held = append(held, stall(fmt.Sprint("198.51.100.", i/2)))
		}
		synctest.Wait()
		large := `{"x":["` + strings.Repeat("x", 4<<20) + `","` + strings.Repeat("x", 4<<20) + `"],"text":"a"}`
		try := func(from, body string) int {
			s := startSending(t, n, streamPath, from, len(body))
			_ = s.send(body)
			return s.ends(time.Second)
		}
		for from, want := range map[string]int{"198.51.100.0": http.StatusServiceUnavailable, "203.0.113.1": http.StatusServiceUnavailable} {
			if status := try(from, large); status != want {
				t.Errorf("a large body of %s is answered %d", from, status)
			}
			if status := try(from, `{"text":"a"}`); status != http.StatusOK {
				t.Errorf("a text of %s is answered %d", from, status)
			}
		}
		time.Sleep(2*rateEvery + time.Second)
		if status := try("203.0.113.1", large); status != http.StatusOK {
			t.Errorf("later it is answered %d", status)
		}
		for _, s := range held {
			if status := s.ends(time.Second); status != http.StatusRequestTimeout {
				t.Errorf("one that stalled is answered %d", status)
			}
		}
		if w.uploads.held != 0 || len(w.uploads.by) != 0 {
			t.Errorf("it remembers %d, %v", w.uploads.held, w.uploads.by)
		}
	})
}
