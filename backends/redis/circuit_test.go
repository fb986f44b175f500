package redis

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/relay"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/progressive"
)

// pretended is a server in memory that can refuse connections, or fall silent. It answers scripts as if nothing had happened before.
type pretended struct {
	*testing.T
	mu    sync.Mutex
	state string        // "" if it answers, "refusing" or "silent"
	heard chan struct{} // closed when the state changes
	dials int
	beat  time.Time // the last one of the replica, which is forgotten after some time
}

// pretend returns a server and a backend that uses it until the end of the test.
func pretend(t *testing.T) (*pretended, *Backend) {
	t.Helper()
	p := &pretended{T: t, heard: make(chan struct{})}
	b := require.Value(Open("redis://redis.test:6379", Options{Dial: p.dial}))(t)
	t.Cleanup(func() {
		p.become("refusing") // ends the server's side
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, b
}

func (p *pretended) become(state string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = state
	close(p.heard)
	p.heard = make(chan struct{})
}

func (p *pretended) now() (state string, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state, p.heard
}

func (p *pretended) dialed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dials
}

func (p *pretended) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	p.mu.Lock()
	p.dials++
	p.mu.Unlock()
	if state, _ := p.now(); state == "refusing" {
		return nil, fmt.Errorf("connection refused")
	}
	client, server := net.Pipe()
	go p.serve(server)
	return client, nil
}

// serve answers one connection. While the server is silent it keeps what it reads, and answers later, as one that was suspended does.
func (p *pretended) serve(conn net.Conn) {
	defer conn.Close()
	requests := make(chan string, 100)
	go func() {
		defer close(requests)
		for in := bufio.NewReader(conn); ; {
			request, err := readRequest(in)
			if err != nil {
				return
			}
			requests <- request
		}
	}()
	for {
		state, changed := p.now()
		switch state {
		case "refusing":
			return
		case "silent":
			<-changed
			continue
		}
		select {
		case <-changed:
		case request, ok := <-requests:
			if !ok {
				return
			}
			if _, err := io.WriteString(conn, p.answerTo(request)); err != nil {
				return
			}
		}
	}
}

func readRequest(in *bufio.Reader) (string, error) {
	number := func(prefix string) (int, error) {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(line), prefix))
	}
	n, err := number("*")
	var words []string
	for range n {
		size, err := number("$")
		if err != nil {
			return "", err
		}
		word := make([]byte, size+2)
		if _, err := io.ReadFull(in, word); err != nil {
			return "", err
		}
		words = append(words, string(word[:size]))
	}
	return strings.Join(words, " "), err
}

func (p *pretended) answerTo(request string) string {
	command, rest, _ := strings.Cut(request, " ")
	switch strings.ToUpper(command) {
	case "HELLO":
		return "-ERR unknown command\r\n"
	case "PING":
		if rest != "" { // of the connection that listens
			return fmt.Sprintf("*2\r\n$4\r\npong\r\n$%d\r\n%s\r\n", len(rest), rest)
		}
		return "+PONG\r\n"
	case "SUBSCRIBE", "UNSUBSCRIBE":
		return fmt.Sprintf("*3\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n:1\r\n", len(command), strings.ToLower(command), len(rest), rest)
	case "EVALSHA", "EVAL":
		switch {
		case strings.Contains(request, "{gate}:replicas"):
			p.mu.Lock()
			defer p.mu.Unlock()
			added := time.Since(p.beat) > silent
			p.beat = time.Now()
			return fmt.Sprintf("*2\r\n:1\r\n:%d\r\n", map[bool]int{true: 1}[added])
		case strings.Contains(request, "{gate}"):
			return "*2\r\n:0\r\n:0\r\n"
		}
		return "*2\r\n$1\r\n1\r\n$1\r\n0\r\n"
	}
	return ":1\r\n"
}

// DI-03: when Redis goes away, one call finds out. Those after it, of whatever kind, take no time and open no connections, and a second
// after it is back at the latest they are made again.
func TestOnlyOneCallWaits(t *testing.T) {
	for _, state := range []string{"refusing", "silent"} {
		t.Run(state, subtest.Of(synctest.Test, func(t *testing.T) {
			p, b := pretend(t)
			calls := map[string]func() error{
				"claim":     func() error { _, err := b.Tracker().Claim(t.Context(), "ada", "room", 1); return err },
				"settle":    func() error { return b.Tracker().Settle(t.Context(), "ada", "room", 1) },
				"stop":      func() error { return b.Tracker().Stop(t.Context(), "ada", "other", 1) },
				"publish":   func() error { return b.Bus().Publish(t.Context(), "room", relay.Frame{}) },
				"subscribe": func() error { _, err := b.Bus().Subscribe(t.Context(), "room"); return err },
				"book":      func() error { _, err := b.Ledger().Book(t.Context(), []progressive.Claim{{Scope: "chat"}}); return err },
				"spend": func() error {
					return b.Ledger().Settle(t.Context(), progressive.Booking{ID: "x"}, progressive.Settlement{Scope: "chat"})
				},
			}
			time.Sleep(time.Minute)
			p.works(calls)
			p.become(state)
			begun := time.Now()
			if err := calls["claim"](); err == nil {
				t.Error("a claim succeeds without Redis")
			}
			if took := time.Since(begun); took > limit {
				t.Errorf("the first call takes %v", took)
			}
			synctest.Wait() // the ping in the background waits too
			dials := p.dialed()
			for range 100 {
				for what, call := range calls {
					begun := time.Now()
					if err := call(); err == nil {
						t.Errorf("%s succeeds without Redis", what)
					}
					if took := time.Since(begun); took > 0 {
						t.Errorf("%s takes %v; want none", what, took)
					}
				}
			}
			if n := p.dialed() - dials; n > 0 {
				t.Errorf("%d connections were opened; want none", n)
			}
			time.Sleep(time.Minute)
			p.become("")
			time.Sleep(limit + probeEvery)
			synctest.Wait()
			p.works(calls)
			if b.Unreachable() {
				t.Error("Unreachable is true after Redis answered; want false")
			}
		}))
	}
}

// DI-03: what Redis did not hear is sent as soon as it answers, and budgets are shared again, without waiting for the next check.
func TestBackAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, b := pretend(t)
		time.Sleep(time.Minute + 100*time.Millisecond)
		b.Ledger()
		p.become("silent")
		if _, err := b.Tracker().Claim(t.Context(), "ada", "room", 1); err == nil {
			t.Error("a claim succeeds without Redis")
		}
		if _, err := b.Ledger().Book(t.Context(), []progressive.Claim{{Scope: "chat"}}); err == nil || !b.Unreachable() {
			t.Errorf("a permit without Redis: %v", err)
		}
		time.Sleep(1500 * time.Millisecond)
		p.become("")
		time.Sleep(probeEvery + 10*time.Millisecond)
		b.tracker.mu.Lock()
		defer b.tracker.mu.Unlock()
		if len(b.tracker.unsent) > 0 || b.Unreachable() {
			t.Errorf("Redis is owed %v; unreachable: %v", b.tracker.unsent, b.Unreachable())
		}
	})
}

// DI-03: the announcement finds out too that Redis is away: the first call after it takes no time.
func TestAnnouncementFindsOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, b := pretend(t)
		b.Ledger()
		time.Sleep(time.Minute)
		p.become("silent")
		time.Sleep(beatEvery + limit)
		synctest.Wait()
		begun := time.Now()
		if _, err := b.Tracker().Claim(t.Context(), "ada", "room", 1); err == nil || time.Since(begun) > 0 {
			t.Errorf("a claim takes %v and fails with %v; want none, and an error", time.Since(begun), err)
		}
	})
}

// works fails the test if a call fails.
func (p *pretended) works(calls map[string]func() error) {
	p.Helper()
	for what, call := range calls {
		if err := call(); err != nil {
			p.Errorf("%s: %v", what, err)
		}
	}
}

// Each command is reported with its duration, also one that fails.
func TestCommandsAreReported(t *testing.T) {
	var took []time.Duration
	c := newCircuit(nil)
	c.observe = func(d time.Duration) { took = append(took, d) }
	_ = c.do(t.Context(), func(context.Context) error { return nil })
	_ = c.do(t.Context(), func(context.Context) error { time.Sleep(time.Millisecond); return io.EOF })
	if len(took) != 2 || took[1] < time.Millisecond {
		t.Errorf("reported were %v", took)
	}
}
