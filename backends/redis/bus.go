package redis

import (
	"context"
	"encoding/json"
	"fmt"

	goredis "github.com/redis/go-redis/v9"

	"parley/core/chat"
	"parley/core/relay"
)

// Bus is a [relay.Bus]. Frames are lost while Redis is unreachable; subscriptions survive, and continue when it is
// back.
type Bus struct {
	client *goredis.Client
	at     layout
	ear    *listener
}

var _ relay.Bus = (*Bus)(nil)

// Publish implements [relay.Bus]. It takes one round trip, and fails within a second if Redis doesn't respond.
func (b *Bus) Publish(ctx context.Context, room chat.RoomID, f relay.Frame) error {
	data, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("redis: publish to %s: %w", room, err)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := b.client.Publish(ctx, b.at.framesChannel(room), data).Err(); err != nil {
		return fmt.Errorf("redis: publish to %s: %w", room, err)
	}
	return nil
}

// Subscribe implements [relay.Bus]. It returns when Redis has confirmed, or with an error within a second.
func (b *Bus) Subscribe(ctx context.Context, room chat.RoomID) (<-chan relay.Frame, error) {
	ch, err := b.ear.subscribe(ctx, room)
	if err != nil {
		return nil, fmt.Errorf("redis: subscribe to %s: %w", room, err)
	}
	return ch, nil
}
