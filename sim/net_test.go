package sim

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"parley/internal/require"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// connected gives both ends of a connection on a new network.
func connected(t *testing.T) (n *Net, near, far net.Conn) {
	t.Helper()
	n = NewNet()
	l := listen(t, n, "chat.test:443")
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	near = require.Value(n.Dial(t.Context(), "tcp", "chat.test:443"))(t)
	far = <-accepted
	t.Cleanup(func() { near.Close(); far.Close() })
	return n, near, far
}

func listen(t *testing.T, n *Net, address string) net.Listener {
	t.Helper()
	l := require.Value(n.Listen("tcp", address))(t)
	t.Cleanup(func() { l.Close() })
	return l
}

func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

func TestAddresses(t *testing.T) {
	n := NewNet()
	l := listen(t, n, "127.0.0.1:8080")
	for _, same := range []string{"127.0.0.1:8080", "localhost:8080", ":8080", "0.0.0.0:8080"} {
		_, err := n.Listen("tcp", same)
		wantError(t, err, syscall.EADDRINUSE)
	}
	l.Close()
	wantError(t, l.Close(), net.ErrClosed)
	listen(t, n, ":8080")

	named, other := listen(t, n, "api.test:8080"), listen(t, n, "other.test:8080")
	if got := named.Addr().String() + " " + other.Addr().String(); got != "10.0.0.1:8080 10.0.0.2:8080" {
		t.Errorf(`addresses of names are %s; want "10.0.0.1:8080 10.0.0.2:8080"`, got)
	}
	if a, b := listen(t, n, "127.0.0.1:0").Addr().String(), listen(t, n, "127.0.0.1:0").Addr().String(); a == b || strings.HasSuffix(a, ":0") {
		t.Errorf("port 0 gave %s and %s", a, b)
	}
	for _, bad := range []string{"127.0.0.1", "127.0.0.1:http", "127.0.0.1:70000"} {
		if _, err := n.Listen("tcp", bad); err == nil {
			t.Errorf("listens on %q", bad)
		}
		if _, err := n.Dial(t.Context(), "tcp", bad); err == nil {
			t.Errorf("dials %q", bad)
		}
	}
	_, err := n.Dial(t.Context(), "udp", ":8080")
	wantError(t, err, net.UnknownNetworkError("udp"))
}

func TestDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewNet()
		_, err := n.Dial(t.Context(), "tcp", "unreachable.test:80")
		wantError(t, err, syscall.ECONNREFUSED)

		l := listen(t, n, "slow.test:80")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = n.Dial(ctx, "tcp", "slow.test:80")
		wantError(t, err, context.DeadlineExceeded)

		time.AfterFunc(time.Second, func() { l.Close() })
		_, err = n.Dial(t.Context(), "tcp", "slow.test:80")
		wantError(t, err, syscall.ECONNREFUSED)
		if len(n.pairs) > 0 {
			t.Errorf("%d failed connections are remembered; want none", len(n.pairs))
		}
	})
}

func TestConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, near, far := connected(t)
		if near.LocalAddr().String() != far.RemoteAddr().String() || near.RemoteAddr().String() != "10.0.0.1:443" {
			t.Errorf("near %v-%v, far %v-%v", near.LocalAddr(), near.RemoteAddr(), far.LocalAddr(), far.RemoteAddr())
		}
		require.Value(near.Write([]byte("no reader is needed")))(t)
		near.Close()
		got, err := io.ReadAll(far)
		if string(got) != "no reader is needed" || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
		_, err = far.Write([]byte("x"))
		wantError(t, err, syscall.EPIPE)
		for what, err := range map[string]error{"close": near.Close(), "deadline": near.SetDeadline(time.Now())} {
			if !errors.Is(err, net.ErrClosed) {
				t.Errorf("second %s: %v", what, err)
			}
		}
		_, err = near.Read(make([]byte, 1))
		wantError(t, err, net.ErrClosed)
		_, err = near.Write([]byte("x"))
		wantError(t, err, net.ErrClosed)
		far.Close()
		if len(n.pairs) > 0 {
			t.Error("a closed connection is remembered")
		}
	})
}

func TestBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, near, far := connected(t)
		lower, upper := bytes.Repeat([]byte("a"), 3*window), bytes.Repeat([]byte("A"), 3*window)
		var written sync.WaitGroup
		for _, text := range [][]byte{lower, upper} {
			written.Go(func() {
				if n, err := near.Write(text); n != len(text) || err != nil {
					t.Errorf("wrote %d of %d, %v", n, len(text), err)
				}
			})
		}
		synctest.Wait()
		if held := far.(*conn).in.buffer.Len(); held != window {
			t.Errorf("holds %d bytes; want %d", held, window)
		}
		got := make([]byte, len(lower)+len(upper))
		_, err := io.ReadFull(far, got)
		if first, second := slices.Concat(lower, upper), slices.Concat(upper, lower); err != nil || !bytes.Equal(got, first) && !bytes.Equal(got, second) {
			t.Errorf("the writes are mixed (%v)", err)
		}
		written.Wait()
	})
}

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, near, far := connected(t)
		start := time.Now()
		near.SetDeadline(start.Add(time.Hour))
		near.SetReadDeadline(start.Add(3 * time.Second)) // the later one counts
		near.SetWriteDeadline(start.Add(5 * time.Second))

		_, err := near.Read(make([]byte, 1))
		wantError(t, err, os.ErrDeadlineExceeded)
		if timeout, ok := errors.AsType[net.Error](err); !ok || !timeout.Timeout() {
			t.Errorf("%v is no timeout", err)
		}
		if waited := time.Since(start); waited != 3*time.Second {
			t.Errorf("read waited %v", waited)
		}
		n, err := near.Write(make([]byte, window+1))
		wantError(t, err, os.ErrDeadlineExceeded)
		if waited := time.Since(start); n != window || waited != 5*time.Second {
			t.Errorf("wrote %d, waited %v", n, waited)
		}

		near.SetDeadline(time.Time{})
		time.AfterFunc(time.Second, func() { far.Write([]byte("y")) })
		if _, err := near.Read(make([]byte, 1)); err != nil {
			t.Errorf("after the deadline is taken back: %v", err)
		}
		time.AfterFunc(time.Second, func() { near.SetReadDeadline(time.Unix(1, 0)) })
		_, err = near.Read(make([]byte, 1))
		wantError(t, err, os.ErrDeadlineExceeded)
		time.AfterFunc(time.Second, func() { far.Close() })
		_, err = far.Read(make([]byte, 0))
		if err != nil {
			t.Errorf("empty read: %v", err)
		}
		_, err = near.Write(make([]byte, 1)) // the window is still full
		wantError(t, err, syscall.EPIPE)
	})
}

func TestCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, near, far := connected(t)
		far.Write([]byte("first"))
		time.AfterFunc(time.Second, func() { n.Cut("chat.test:443") })
		_, err := far.Read(make([]byte, 1))
		wantError(t, err, syscall.ECONNRESET)
		got, err := io.ReadAll(near)
		wantError(t, err, syscall.ECONNRESET)
		if string(got) != "first" {
			t.Errorf("what had arrived is %q", got)
		}
		_, err = near.Write([]byte("x"))
		wantError(t, err, syscall.ECONNRESET)
		n.Cut("unreachable.test:1")
		n.Cut("no address")
	})
}

func TestLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, near, far := connected(t)
		far.(interface{ SetLinger(int) error }).SetLinger(0)
		far.Close()
		_, err := near.Read(make([]byte, 1))
		wantError(t, err, syscall.ECONNRESET)
	})
}

// serve runs h at web.test:80 and gives a client that keeps its connections.
func serve(t *testing.T, h http.HandlerFunc) (*Net, *http.Client) {
	t.Helper()
	n := NewNet()
	l := listen(t, n, "web.test:80")
	server := &http.Server{Handler: h}
	done := make(chan error)
	go func() { done <- server.Serve(l) }()
	transport := &http.Transport{DialContext: n.Dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
		wantError(t, <-done, http.ErrServerClosed)
	})
	return n, &http.Client{Transport: transport}
}

func get(t *testing.T, client *http.Client) *http.Response {
	t.Helper()
	resp := require.Value(client.Get("http://web.test/"))(t)
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func TestHTTPKeepsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client := serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RemoteAddr) })
		var seen []string
		for range 3 {
			body := require.Value(io.ReadAll(get(t, client).Body))(t)
			seen = append(seen, string(body))
			time.Sleep(time.Second)
		}
		if host, _, err := net.SplitHostPort(seen[0]); err != nil || host != "127.0.0.1" || seen[1] != seen[0] || seen[2] != seen[0] {
			t.Errorf("the server saw %q", seen)
		}
	})
}

func TestHTTPStreamOfAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 60 {
				time.Sleep(time.Second)
				fmt.Fprintf(w, "data: %d\n\n", i)
				http.NewResponseController(w).Flush()
			}
		})
		start := time.Now()
		lines := bufio.NewScanner(get(t, client).Body)
		events := 0
		for lines.Scan() {
			if lines.Text() == "" {
				continue
			}
			if want := fmt.Sprintf("data: %d", events); lines.Text() != want || time.Since(start) != time.Duration(events+1)*time.Second {
				t.Fatalf("%q after %v, want %q", lines.Text(), time.Since(start), want)
			}
			events++
		}
		if events != 60 || lines.Err() != nil {
			t.Errorf("%d events, %v", events, lines.Err())
		}
	})
}

func TestHTTPSlowReaderMeetsTheWriteDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		result := make(chan error, 1)
		_, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.NewResponseController(w).SetWriteDeadline(time.Now().Add(5 * time.Second))
			var err error
			for err == nil {
				_, err = w.Write(make([]byte, 8<<10))
			}
			result <- err
		})
		start := time.Now()
		resp := get(t, client)
		wantError(t, <-result, os.ErrDeadlineExceeded)
		if waited := time.Since(start); waited != 5*time.Second {
			t.Errorf("gave up after %v", waited)
		}
		if _, err := io.ReadAll(resp.Body); err == nil {
			t.Error("the reader believes that the body is whole")
		}
	})
}

func TestHTTPCutAndClientLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := make(chan time.Time, 1)
		n, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
			left <- time.Now()
		})
		start := time.Now()
		resp := get(t, client)
		time.AfterFunc(time.Minute, func() { n.Cut("web.test:80") })
		_, err := io.ReadAll(resp.Body)
		wantError(t, err, syscall.ECONNRESET)
		if gone := (<-left).Sub(start); gone != time.Minute {
			t.Errorf("the server noticed the cut after %v; want %v", gone, time.Minute)
		}
		resp = get(t, client) // over a new connection
		resp.Body.Close()
		<-left
	})
}
