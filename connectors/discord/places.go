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
	guessLife  = time.Minute // of what is assumed of a channel that could not be asked for
)

// places knows the channels of guilds: their kind, which no message tells, and their name.
type places struct {
	client *client

	mu    sync.Mutex
	known map[string]remembered
}

type remembered struct {
	place
	until time.Time
}

func newPlaces(c *client) *places { return &places{client: c, known: map[string]remembered{}} }

// of asks Discord where it must. A message is worth more than its channel's name: if there is no answer, the channel
// is taken for an ordinary one.
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

// remember keeps r, in place of anything if there is too much.
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
