package actiontest

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/lang"
)

// Host stands in for the gateway of a plugin. The zero Host has no models and has stored nothing. Safe for concurrent use.
type Host struct {
	Models llm.Models

	mu    sync.Mutex
	state map[string]string
	said  []chat.Notice
}

// Init calls the Init of p, if it has one, as a gateway does at its start. A Host that is used again is one that was restarted.
func (h *Host) Init(t testing.TB, p action.Plugin) error {
	t.Helper()
	if p.Init == nil {
		return nil
	}
	return p.Init(t.Context(), action.Services{Log: slog.New(slog.DiscardHandler), State: h, Models: h.Models, Say: h.say, TellOwners: func(ctx context.Context, key, sentence string, pairs ...any) error {
		_, err := h.say(ctx, chat.Notice{To: chat.Address{Room: "owner"}, Key: key, Text: lang.Voice{}.Say(sentence, pairs...)})
		return err
	}})
}

// Said returns what the plugin has sent, oldest first.
func (h *Host) Said() []chat.Notice {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]chat.Notice(nil), h.said...)
}

func (h *Host) say(_ context.Context, n chat.Notice) (chat.Accepted, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n.Key != "" {
		for _, earlier := range h.said {
			if earlier.Key == n.Key && earlier.To.Room == n.To.Room {
				return chat.Accepted{Duplicate: true}, nil
			}
		}
	}
	h.said = append(h.said, n)
	return chat.Accepted{}, nil
}

// Keep implements [action.State].
func (h *Host) Keep(_ context.Context, name, value string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state == nil {
		h.state = map[string]string{}
	}
	h.state[name] = value
	return nil
}

// Swap implements [action.State].
func (h *Host) Swap(_ context.Context, name, old, value string) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state == nil {
		h.state = map[string]string{}
	}
	if h.state[name] != old {
		return false, nil
	}
	h.state[name] = value
	return true, nil
}

// Kept implements [action.State].
func (h *Host) Kept(_ context.Context, name string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state[name], nil
}
