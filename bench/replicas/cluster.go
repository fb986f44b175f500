package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"parley/backends/postgres/postgrestest"
	"parley/models/modelfake"
	"parley/sim"
)

// ending are the last words of each reply.
const ending = "Have a rest."

// cluster is everything around the gateways, and the gateways.
type cluster struct {
	o        options
	postgres *postgrestest.Server
	redis    *exec.Cmd
	redisAt  string
	model    *httptest.Server
	telegram *chats // nil with -load web
	gateways []*exec.Cmd
	pages    []*sim.Browser
	rooms    []string // of people on the web
}

func newCluster(o options) (w *cluster, err error) {
	w = &cluster{o: o}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	w.model = httptest.NewServer(modelfake.New(modelfake.Options{Choose: script}))
	if o.load == "telegram" {
		w.telegram = newChats(o.people)
	}
	start := postgrestest.New
	if o.fsync {
		start = postgrestest.NewSafe
	}
	if w.postgres, err = start(); err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	if w.redisAt, err = freePort(); err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(w.redisAt)
	if err != nil {
		return nil, err
	}
	redis := exec.Command("redis-server", "--bind", host, "--port", port, "--dir", o.dir, "--save", "", "--appendonly", "no")
	if err := redis.Start(); err != nil {
		return nil, fmt.Errorf("start Redis: %w", err)
	}
	w.redis = redis
	return w, w.configure()
}

// freePort returns an address that a process can listen on.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}

// configure writes the gateways' config.yaml: nothing waits for a limit, but limits are counted.
func (w *cluster) configure() error {
	connectors := "{}"
	if w.telegram != nil {
		connectors = fmt.Sprintf("{telegram: {token: %q, api_url: %q, limits: {per_second: 100000}}}", w.telegram.fake.Token(), w.telegram.server.URL)
	}
	turns, music := "queue", ""
	if w.o.load == loadReach {
		turns, music = "supersede", filepath.Join(w.o.dir, "music")
		if err := w.writeTracks(); err != nil {
			return err
		}
	}
	text := fmt.Sprintf(`providers: {openai: {base_url: "%s/v1", api_key: none}}
models: {large: {model: %s}}
connectors: %s
web: {limits: {messages_per_minute: 0, conversations_per_hour: 0, open_requests: 0}}
access: {direct: open}
agent: {summaries: false}
turns: {direct: %s}
plugins: {player: {folder: %q}}
limits:
  person: {messages: 1000000, tokens: 1000000000}
  room: {messages: 1000000, tokens: 1000000000}
  total: {messages: 100000000, tokens: 100000000000}
store: %q
shared: redis://%s
`, w.model.URL, modelfake.DefaultModel, connectors, turns, music, w.postgres.URL(), w.redisAt)
	return os.WriteFile(filepath.Join(w.o.dir, "config.yaml"), []byte(text), 0o600)
}

// launch starts the gateways, waits until all are ready, and opens the conversations.
func (w *cluster) launch(ctx context.Context, binary string) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: w.o.people}}
	for i := range w.o.replicas {
		at, err := freePort()
		if err != nil {
			return err
		}
		log, err := os.Create(filepath.Join(w.o.dir, fmt.Sprintf("gateway%d.log", i)))
		if err != nil {
			return err
		}
		c := exec.Command(binary, "--listen", at)
		c.Dir, c.Env, c.Stdout, c.Stderr = w.o.dir, []string{"HOME=" + w.o.dir}, log, log
		if err := c.Start(); err != nil {
			return errors.Join(fmt.Errorf("start a gateway: %w", err), log.Close())
		}
		if err := log.Close(); err != nil {
			return err
		}
		w.gateways, w.pages = append(w.gateways, c), append(w.pages, &sim.Browser{HTTP: client, Base: "http://" + at})
		if err := ready(ctx, client, "http://"+at); err != nil {
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("%w; its log:\n%s", err, text)
		}
	}
	for person := 0; w.telegram == nil && person < w.o.people; person++ {
		id, err := w.pages[person%len(w.pages)].Open(ctx)
		if err != nil {
			return err
		}
		w.rooms = append(w.rooms, id)
	}
	return nil
}

// ready waits for a gateway.
func ready(ctx context.Context, client *http.Client, base string) error {
	for range 200 {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			if err := resp.Body.Close(); err == nil && resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		if err := wait(ctx, 100*time.Millisecond, nil); err != nil {
			return err
		}
	}
	return errors.New("a gateway is not ready after 20 s")
}

// ask asks once and returns how long the whole reply took.
func (w *cluster) ask(ctx context.Context, person, n int) (time.Duration, error) {
	text := fmt.Sprintf("What is new, for the time %d?", n)
	if w.telegram != nil {
		return w.telegram.ask(ctx, person, text)
	}
	begun := time.Now()
	s, err := w.pages[(person+n)%len(w.pages)].Send(ctx, w.rooms[person], fmt.Sprintf("%d-%d", person, n), text)
	if err != nil {
		return 0, err
	}
	if s.Status != http.StatusOK {
		return 0, fmt.Errorf("a question was answered with status %d: %s", s.Status, s.Body)
	}
	if _, err := s.All(); err != nil {
		return 0, err
	}
	if !strings.HasSuffix(s.Text(), ending) {
		return 0, fmt.Errorf("a reply is %q", s.Text())
	}
	return time.Since(begun), nil
}

// close ends everything.
func (w *cluster) close() {
	for _, g := range w.gateways {
		_ = g.Process.Kill() // what was measured is known
		_ = g.Wait()         // it was killed
	}
	if w.redis != nil {
		_ = w.redis.Process.Kill()
		_ = w.redis.Wait()
	}
	if w.postgres != nil {
		w.postgres.Stop()
	}
	if w.telegram != nil {
		w.telegram.server.Close()
	}
	w.model.Close()
}
