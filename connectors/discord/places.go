package discord

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"parley/core/chat"
)

const (
	mostPlaces = 1000
	placeTime  = 5 * time.Second
	placeLife  = time.Hour
	guessLife  = time.Minute // for an assumption about a channel whose lookup failed
)

// places caches the kinds and names of guild channels, which messages do not include. Entries expire after an hour,
// because channels are renamed. It is safe for concurrent use.
type places struct {
	client *client

	mu    sync.Mutex
	known map[string]remembered
}

// remembered is a channel in the cache.
type remembered struct {
	place
	until time.Time
}

func newPlaces(c *client) *places { return &places{client: c, known: map[string]remembered{}} }

// of returns the channel of m, and looks it up if it is not cached. If the lookup fails the message is delivered
// anyway, and the channel is assumed to be an ordinary one, with the name that it had before. The result of a refusal
// is kept for as long as a success, since asking again would not help; other failures are remembered for a minute.
func (p *places) of(ctx context.Context, m message) place {
	if m.Guild == "" {
		return place{kind: chat.Direct, name: m.Author.shown(nil)}
	}
	p.mu.Lock()
	r, ok := p.known[m.Channel]
	p.mu.Unlock()
	if ok && time.Now().Before(r.until) {
		return r.place
	}
	ctx, cancel := context.WithTimeout(ctx, placeTime)
	defer cancel()
	var said struct {
		Type   int    `json:"type"`
		Name   string `json:"name"`
		Parent string `json:"parent_id"`
	}
	life := placeLife
	if err := p.client.do(ctx, http.MethodGet, "channels/"+m.Channel, nil, &said); err != nil {
		if said.Name, said.Parent = r.name, r.parent; !errors.As(err, new(*refusal)) {
			life = guessLife
		}
	}
	r = remembered{place{kindOf(said.Type), said.Name, said.Parent}, time.Now().Add(life)}
	p.remember(m.Channel, r)
	return r.place
}

// remember caches r, evicting any entry if there are too many.
func (p *places) remember(channel string, r remembered) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= mostPlaces {
		for old := range p.known {
			delete(p.known, old)
			break
		}
	}
	p.known[channel] = r
}
