package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/require"
)

const (
	filePath    = "/api/conversations/c/messages/web%2Fc%231/files/0"
	historyPath = "/api/conversations/c/messages"
)

// large is a store of long conversations and large files. It counts the bytes of files that are asked for.
type large struct {
	rooms
	asked *atomic.Int64
}

const largeFile = 8 << 20

func (large) Recent(_ context.Context, room chat.RoomID, kind chat.MemoryKind, _ chat.ResponseID, _ int) (all []chat.Memory, _ error) {
	if kind != chat.Said {
		return nil, nil
	}
	for i := range 20 {
		all = append(all, chat.Memory{ID: chat.MemoryID(fmt.Sprint(room, "#", i)), Author: "agent", Text: strings.Repeat(fmt.Sprint(i%10), 300<<10)})
	}
	return all, nil
}

func (s large) File(context.Context, chat.RunID, int) (llm.File, error) {
	s.asked.Add(largeFile)
	return llm.File{Type: "audio/wav", Data: make([]byte, largeFile)}, nil
}

func (s large) FilePart(_ context.Context, _ chat.RunID, _ int, from, length int64) (chat.FilePart, error) {
	length = max(0, min(length, largeFile-from))
	s.asked.Add(length)
	return chat.FilePart{Type: "audio/wav", Size: largeFile, Data: bytes.Repeat([]byte{byte(from)}, int(length))}, nil
}

// ask sends a GET request over a connection of its own, and reads nothing.
func ask(t *testing.T, dial func(network, address string) (net.Conn, error), host, path, from string) net.Conn {
	t.Helper()
	c, err := dial("tcp", host)
	if err != nil {
		t.Error(err)
		return nil
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(4 << 10) // the operating system is to take little of the reply
	}
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nX-Forwarded-For: %s\r\n\r\n", path, host, from); err != nil {
		t.Error(err)
	}
	return c
}

// WB-15: a reader who does not take a reply is let go, whatever the reply is.
func TestReadersWhoDoNotReadAreLetGo(t *testing.T) {
	for _, path := range []string{historyPath, filePath} {
		t.Run(path, func(t *testing.T) {
			serveOn(t, func(o *Options) { o.Store = large{asked: &atomic.Int64{}} }, accept, func(w *Web, n network) {
				c := ask(t, n.dial, "127.0.0.1:8080", path, "")
				time.Sleep(patience - time.Second)
				if open(w) != 1 {
					t.Errorf("%d requests are open while there is time", open(w))
				}
				time.Sleep(2 * time.Second)
				if open(w) != 0 {
					t.Error("the stream is still open; want it closed")
				}
				if got, err := io.ReadAll(c); len(got) > 1<<20 {
					t.Errorf("the reader found %d bytes, %v", len(got), err)
				}
			})
		})
	}
}

// open is how many requests are open.
func open(w *Web) int64 {
	w.places.mu.Lock()
	defer w.places.mu.Unlock()
	return w.places.held
}

// WB-15: a reader who takes a reply slowly gets all of it.
func TestSlowReadersGetAll(t *testing.T) {
	serveOn(t, func(o *Options) { o.Store = large{asked: &atomic.Int64{}} }, accept, func(_ *Web, n network) {
		resp, err := n.client.Get("http://127.0.0.1:8080" + filePath)
		require.NoError(t, err)
		defer resp.Body.Close()
		got := 0
		for buf := make([]byte, 64<<10); err == nil; {
			var k int
			k, err = io.ReadFull(resp.Body, buf)
			got += k
			time.Sleep(4 * time.Second)
		}
		if got != largeFile || err != io.EOF {
			t.Errorf("it got %d bytes, %v", got, err)
		}
	})
}

// WB-15: a client that opens many replies and reads none of them holds a bounded number of them, and bounded memory; many
// addresses together hold bounded memory too.
func TestOpenRepliesAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		path    string
		address func(i int) string
		open    int // of 100
		most    uint64
	}{
		"files of one address":      {filePath, func(int) string { return "198.51.100.1" }, 64, 64 << 20},
		"files of many addresses":   {filePath, func(i int) string { return fmt.Sprint("198.51.100.", i) }, 100, 64 << 20},
		"histories of one address":  {historyPath, func(int) string { return "198.51.100.1" }, 64, 64 << 20},
		"histories of many of them": {historyPath, func(i int) string { return fmt.Sprint("198.51.100.", i) }, 100, 256 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			edit := func(o *Options) {
				o.Store, o.Limits.OpenRequests = large{asked: &atomic.Int64{}}, 64
				o.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
			}
			serveOn(t, edit, accept, func(_ *Web, n network) {
				before := heap()
				var conns []net.Conn
				for i := range 100 {
					conns = append(conns, ask(t, n.dial, "127.0.0.1:8080", c.path, c.address(i)))
				}
				time.Sleep(2 * time.Second) // the bubble's clock advances when all goroutines are blocked
				if held := heap() - before; held > int64(c.most) {
					t.Errorf("%d MiB are held", held>>20)
				}
				refused := 0
				for _, conn := range conns {
					_ = conn.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
					head := make([]byte, 64)
					n, _ := conn.Read(head) // nothing, for those that wait
					if strings.Contains(string(head[:n]), " 503 ") {
						refused++
					}
				}
				if refused != 100-c.open {
					t.Errorf("%d are refused at once", refused)
				}
				for _, conn := range conns {
					_ = conn.Close()
				}
			})
		})
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// WB-15: one byte of a file is one byte of the store's, and many parts are the whole.
func TestPartsOfFiles(t *testing.T) {
	asked := &atomic.Int64{}
	serve(t, func(o *Options) { o.Store = large{asked: asked} }, accept, func(client *http.Client, _ *answer.Answer) {
		for _, c := range []struct {
			part         string
			status       int
			length, most int64
		}{
			{"bytes=0-0", http.StatusPartialContent, 1, 1},
			{"bytes=8388607-", http.StatusPartialContent, 1, 1},
			{"bytes=-3", http.StatusPartialContent, 3, 3},
			{"bytes=1000000-1099999", http.StatusPartialContent, 100_000, window},
			{"bytes=9000000-", http.StatusRequestedRangeNotSatisfiable, -1, 0},
			{"bytes=0-0,2-2,4-4", http.StatusOK, largeFile, largeFile},
			{"", http.StatusOK, largeFile, largeFile},
		} {
			asked.Store(0)
			r := require.Value(http.NewRequest(http.MethodGet, "http://127.0.0.1:8080"+filePath, nil))(t)
			r.Header.Set("Range", c.part)
			resp := require.Value(client.Do(r))(t)
			n, err := io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if resp.StatusCode != c.status || c.length >= 0 && n != c.length || err != nil || asked.Load() > c.most {
				t.Errorf("%q: %d with %d bytes, %v; the store was asked for %d", c.part, resp.StatusCode, n, err, asked.Load())
			}
		}
	})
}

// A file that is replaced while it is read ends the reply early, rather than to mix two files.
func TestFileChangesWhileItIsRead(t *testing.T) {
	s := require.Value(openStored(t.Context(), oneFile{file: llm.File{Type: "a/b", Data: make([]byte, 100)}}, "run", 0))(t)
	s.store = oneFile{file: llm.File{Type: "a/b", Data: make([]byte, 99)}}
	if got, err := io.ReadAll(s); len(got) != 0 || err == nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// WB-15: an address has a number of GET requests in a minute, a large one.
func TestTooManyReads(t *testing.T) {
	serve(t, func(o *Options) { o.Limits.MessagesPerMinute = 1 }, accept, func(client *http.Client, _ *answer.Answer) {
		for i := range readsPerMessage + 1 {
			resp := require.Value(client.Get("http://127.0.0.1:8080" + historyPath))(t)
			resp.Body.Close()
			if limited := resp.StatusCode == http.StatusTooManyRequests; limited != (i == readsPerMessage) || limited && resp.Header.Get("Retry-After") != "3" {
				t.Fatalf("read %d: %d, %v", i+1, resp.StatusCode, resp.Header)
			}
		}
	})
}

// A conversation with more text than a reply may have shows its newest messages.
func TestLongConversation(t *testing.T) {
	a := &answer.Answer{}
	a.Apply(answer.Change{Kind: answer.Text, Text: "Which?"}) // of a question older than these
	a.End(answer.Outcome{Status: answer.Completed})
	w := New(Options{Listener: noListener{}, Store: large{asked: &atomic.Int64{}}, Agent: chat.Agent{ID: "agent"}, Answers: answers{a: a}})
	lines, size, err := w.lines(httptest.NewRequest("GET", "/", nil), "web/c")
	if err != nil || len(lines) != 13 || size > maxReply || !bytes.Contains(lines[0], []byte(`#19"`)) {
		t.Errorf("%d lines with %d bytes, %v", len(lines), size, err)
	}
}

type noListener struct{ net.Listener }

func (noListener) Addr() net.Addr { return &net.TCPAddr{} }

// A share gives each address a part of all, and gives again what is given back.
func TestShare(t *testing.T) {
	s := &share{all: 5, each: 3}
	a, b := netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("192.0.2.2/32")
	if !s.take(caller{from: a}, 3) || s.take(caller{from: a}, 1) || !s.take(caller{from: b}, 2) || s.take(caller{from: b}, 1) {
		t.Fatalf("it gave %d, %v", s.held, s.by)
	}
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if err := s.wait(t.Context(), caller{from: b}, 1); err != nil {
			t.Error(err)
		}
	})
	s.give(caller{from: a}, 3)
	waiting.Wait()
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errCrowded)
	defer cancel()
	if err := s.wait(ctx, caller{from: b}, 1); err != errCrowded {
		t.Errorf("beyond its part it got %v", err)
	}
	s.give(caller{from: b}, 3)
	if s.held != 0 || len(s.by) != 0 {
		t.Errorf("it remembers %d, %v", s.held, s.by)
	}
}

// WB-15: a stream whose frames hold all the text costs a bounded number of bytes in a second, and gets all of it in the end.
func TestLegacyStreamsAreBounded(t *testing.T) {
	serve(t, nil, accept, func(client *http.Client, a *answer.Answer) {
		piece := strings.Repeat("x", 1000)
		go func() {
			for range 1000 {
				a.Apply(answer.Change{Kind: answer.Text, Text: piece})
				time.Sleep(10 * time.Millisecond)
			}
			a.End(answer.Outcome{Status: answer.Completed})
		}()
		_, body := post(t, client, streamPath, `{"text":"a","streamProtocol":"legacy"}`)
		if len(body) > 5_000_000 || !strings.Contains(body, strings.Repeat(piece, 1000)) {
			t.Errorf("it took %d bytes for a text of 1 MB", len(body))
		}
	})
}
