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
	"parley/internal/require"
	"parley/internal/subtest"
)

// counting is an embedding model that counts how often it is given each text.
type counting struct {
	mu    sync.Mutex
	given map[string]int
	more  int // numbers in each vector
}

func (c *counting) Embed(_ context.Context, texts []string) (vectors [][]float32, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, text := range texts {
		c.given[text]++
		vectors = append(vectors, append(make([]float32, c.more), 1, float32(len(text))))
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
		require.NoError(t, Migrate(t.Context(), address))
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) { embedsOnce(t, address) }))
	}
}

func embedsOnce(t *testing.T, address string) {
	store := require.Value(Open(t.Context(), address, Options{Guest: true}))(t)
	defer store.Close()
	var lines bytes.Buffer
	log := slog.New(slog.NewTextHandler(&lines, nil)) // one handler, whose lock the gateways share
	embedder := &counting{given: map[string]int{}}
	run := func(model string, several bool) (stop func()) {
		p := recall.New(recall.Deps{Store: store, Embedder: embedder, Model: model, Several: several, Log: log})
		require.NoError(t, p.Init(t.Context(), action.Services{State: state{store}}))
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() { defer close(ended); p.Work(ctx) }()
		return func() { cancel(); <-ended }
	}
	said := func(n int, want string) {
		t.Helper()
		if n > 0 {
			require.NoError(t, says(t.Context(), store, n))
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
		t.Errorf(`after a restart with another model, embedded were %s; want "map[message number 1:3 message number 2:3 message number 3:3]"`, got)
	}
}

// Gateways whose embedding models have one name but vectors of different lengths don't replace each other's vectors: the
// first one keeps its vectors, and the second one searches by words, with one warning.
func TestVectorLengthsDiffer(t *testing.T) {
	addresses := map[string]string{
		"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "parley.db"), "postgres": postgrestest.Shared(t).Create(t, ""),
	}
	for name, address := range addresses {
		require.NoError(t, Migrate(t.Context(), address))
		t.Run(name, subtest.Of(synctest.Test, func(t *testing.T) { lengthsDiffer(t, address) }))
	}
}

func lengthsDiffer(t *testing.T, address string) {
	store := require.Value(Open(t.Context(), address, Options{Guest: true}))(t)
	defer store.Close()
	var lines bytes.Buffer
	log := slog.New(slog.NewTextHandler(&lines, nil))
	embedders := []*counting{{given: map[string]int{}}, {given: map[string]int{}, more: 6}}
	var plugins []action.Plugin
	for _, e := range embedders {
		p := recall.New(recall.Deps{Store: store, Embedder: e, Model: "m", Several: true, Log: log})
		require.NoError(t, p.Init(t.Context(), action.Services{State: state{store}}))
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() { defer close(ended); p.Work(ctx) }()
		defer func() { cancel(); <-ended }()
		plugins = append(plugins, p)
	}
	const rounds = 5
	for n := 1; n <= rounds; n++ {
		require.NoError(t, says(t.Context(), store, n))
		time.Sleep(time.Hour)
		synctest.Wait()
		if value, err := store.Kept(t.Context(), recall.ClaimKey); err != nil || strings.Contains(value, "/0 ") {
			t.Errorf("once messages are embedded, the claim has no length: %q, %v", value, err)
		}
		for i, p := range plugins {
			question := chat.Memory{ID: chat.MemoryID(fmt.Sprint("room/", n)), Room: "room", Author: "ada", Text: fmt.Sprint("question ", n, i)}
			turn := action.TurnContext{Recent: []chat.Memory{question}, Answered: []chat.MemoryID{question.ID}, Message: question}
			turn.Room.ID, turn.Room.Kind = "room", chat.Group
			require.Value(p.Providers[0].Provide(t.Context(), turn))(t)
		}
	}
	embedded := 0
	for _, e := range embedders {
		for text, times := range e.given {
			if strings.HasPrefix(text, "message") {
				embedded += times
			}
		}
	}
	if embedded > rounds+1 { // the second gateway finds out with its first message
		t.Errorf("%d messages were embedded %d times: %v and %v", rounds, embedded, embedders[0], embedders[1])
	}
	if n := strings.Count(lines.String(), "another gateway with this store"); n != 1 {
		t.Errorf("there are %d warnings:\n%s", n, &lines)
	}
}
