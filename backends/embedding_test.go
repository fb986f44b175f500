package backends

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/backends/postgres/postgrestest"
	"parley/core/action"
	"parley/core/chat"
	"parley/core/recall"
)

// counting is an embedding model that counts how often it is given each text.
type counting struct {
	mu    sync.Mutex
	given map[string]int
}

func (c *counting) Embed(_ context.Context, texts []string) (vectors [][]float32, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, text := range texts {
		c.given[text]++
		vectors = append(vectors, []float32{1, float32(len(text))})
	}
	return vectors, nil
}

func (c *counting) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprint(c.given)
}

// state is that of a plugin.
type state struct{ Store }

func says(ctx context.Context, s Store, n int) error {
	id := chat.MemoryID(fmt.Sprint("room/", n))
	_, err := s.Accept(ctx, chat.Message{Memory: chat.Memory{ID: id, Room: "room", Author: "ada", Text: fmt.Sprint("message number ", n), At: time.Now()},
		Place: chat.Room{ID: "room", Kind: chat.Group, Connector: "fake"}}, chat.JoinRule{NoRun: true})
	return err
}

// Gateways with different embedding models leave the messages to the one that came first, with one warning, and embed nothing twice.
// When that has gone, the other takes over; a gateway that has the store for itself does at once.
func TestEmbeddingModelsDiffer(t *testing.T) {
	addresses := map[string]string{
		"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "parley.db"), "postgres": postgrestest.Shared(t).Create(t, ""),
	}
	for name, address := range addresses {
		if err := Migrate(t.Context(), address); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { embedsOnce(t, address) }) })
	}
}

func embedsOnce(t *testing.T, address string) {
	store, err := Open(t.Context(), address, Options{Guest: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var lines bytes.Buffer
	log := slog.New(slog.NewTextHandler(&lines, nil)) // one handler, whose lock the gateways share
	embedder := &counting{given: map[string]int{}}
	run := func(model string, several bool) (stop func()) {
		p := recall.New(recall.Deps{Store: store, Embedder: embedder, Model: model, Several: several, Log: log})
		if err := p.Init(t.Context(), action.Services{State: state{store}}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() { defer close(ended); p.Work(ctx) }()
		return func() { cancel(); <-ended }
	}
	said := func(n int, want string) {
		t.Helper()
		if n > 0 {
			if err := says(t.Context(), store, n); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := embedder.String(); got != want {
			t.Errorf("after message %d, embedded were %s; want %s", n, got, want)
		}
	}
	first := run("first", true)
	said(1, "map[message number 1:1]")
	second := run("second", true)
	third := run("second", true)
	said(2, "map[message number 1:1 message number 2:1]")
	said(3, "map[message number 1:1 message number 2:1 message number 3:1]")
	if n := strings.Count(lines.String(), "another gateway with this store"); n != 2 || strings.Count(lines.String(), "other=first") != n {
		t.Errorf("two gateways warn %d times:\n%s", n, &lines)
	}
	third()
	first()
	said(0, "map[message number 1:2 message number 2:2 message number 3:2]") // once by each model
	second()
	alone := run("third", false)
	defer alone()
	time.Sleep(time.Minute)
	synctest.Wait()
	if got := embedder.String(); got != "map[message number 1:3 message number 2:3 message number 3:3]" {
		t.Errorf("after a restart with another model, embedded were %s", got)
	}
}
