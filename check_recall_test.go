package parley

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	stores "parley/backends"
	"parley/backends/sqlite/sqlitetest"
	"parley/config"
	"parley/core/chat"
	"parley/core/recall"
	"parley/internal/require"
)

type noEmbedder struct{}

func (noEmbedder) Embed(context.Context, []string) ([][]float32, error) {
	return nil, errors.New("it is not asked")
}

// keepClaim stores which model messages are embedded with.
func keepClaim(t *testing.T, cfg config.Config, value string) {
	t.Helper()
	s := require.Value(stores.Open(t.Context(), cfg.Store.Reveal(), stores.Options{}))(t)
	require.NoError(t, s.Keep(t.Context(), pluginKey("recall", recall.ClaimKey), value))
	require.NoError(t, s.Close())
}

// embedAll gives all messages a vector of a model.
func embedAll(t *testing.T, cfg config.Config, model string) {
	t.Helper()
	s := require.Value(stores.Open(t.Context(), cfg.Store.Reveal(), stores.Options{}))(t)
	defer s.Close() //nolint:errcheck // everything was written
	require.Value(s.IndexWords(t.Context(), 10, time.Time{}))(t)
	require.Value(s.Backfill(t.Context(), 10))(t)
	waiting := require.Value(s.Unembedded(t.Context(), model, 10))(t)
	for _, u := range waiting {
		require.NoError(t, s.SaveVectors(t.Context(), model, []chat.Vector{{Ticket: u.Ticket, Vector: []float32{1}}}))
	}
}

// The check tells how many messages a backfill or another model embeds before it costs anything.
func TestCheckRecall(t *testing.T) {
	cfg := config.Config{Store: config.DSN("sqlite:" + sqlitetest.Path(t))}
	says := func(want string) {
		t.Helper()
		if got, err := checkRecall(t.Context(), cfg, noEmbedder{}); err != nil || !strings.Contains(got, want) {
			t.Errorf("the check says %q, %v; want %q", got, err, want)
		}
	}
	says("all messages are searched by meaning")
	s := require.Value(stores.Open(t.Context(), cfg.Store.Reveal(), stores.Options{}))(t)
	m := chat.Memory{ID: "m", Room: "room", Author: "ada", Text: strings.Repeat("word ", 80), At: time.Now()}
	require.Value(s.Accept(t.Context(), chat.Message{Memory: m, Place: chat.Room{ID: "room"}}, chat.JoinRule{}))(t)
	says("while the gateway is running")
	require.NoError(t, s.Close())
	says("1 earlier messages, about 100 tokens, are searched by words only")
	cfg.Agent.Recall = config.RecallAll
	says("the next start embeds 1 earlier messages, about 100 tokens")
	embedAll(t, cfg, embedding(cfg))
	says("all messages are searched by meaning")
	cfg.Models.Embedding.Model = "another"
	says("the next start embeds 1 earlier messages, about 100 tokens")
	cfg.Agent.Recall = config.RecallMeaning
	says("the next start embeds 1 earlier messages, about 100 tokens")
	for shared, claimed := range map[string]bool{"redis://127.0.0.1": true, "inmem:": false} {
		for until, holds := range map[time.Time]bool{time.Now().Add(time.Minute): true, time.Now().Add(-time.Minute): false} {
			keepClaim(t, cfg, fmt.Sprintf("%d openai other", until.Unix()))
			cfg.Shared = config.DSN(shared)
			if _, err := checkRecall(t.Context(), cfg, noEmbedder{}); (err != nil) != (claimed && holds) || err != nil && !strings.Contains(err.Error(), `embedded with "openai other"`) {
				t.Errorf("with another model until %v, the check of %s says %v", until, shared, err)
			}
		}
	}
	if _, err := checkRecall(t.Context(), cfg, nil); err == nil || !strings.Contains(err.Error(), "models.embedding.model") {
		t.Errorf("without an embedder it says %v", err)
	}
}
