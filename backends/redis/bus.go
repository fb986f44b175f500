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
	client goredis.UniversalClient
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
	if err := b.publish(ctx, b.at.framesChannel(room), data); err != nil {
		return fmt.Errorf("redis: publish to %s: %w", room, err)
	}
	return nil
}

// publish uses the node of a cluster that the listeners use: the one of their first channel. Through another node, which the
// client would choose at random, frames could overtake each other, and a new reader could receive earlier ones.
func (b *Bus) publish(ctx context.Context, channel string, data []byte) error {
	var node goredis.Cmdable = b.client
	if cluster, ok := b.client.(*goredis.ClusterClient); ok {
		master, err := cluster.MasterForKey(ctx, b.at.turnsChannel())
		if err != nil {
			return err
		}
		node = master
	}
	return node.Publish(ctx, channel, data).Err()
}

// Subscribe implements [relay.Bus]. It returns when Redis has confirmed, or with an error within a second.
func (b *Bus) Subscribe(ctx context.Context, room chat.RoomID) (<-chan relay.Frame, error) {
	ch, err := b.ear.subscribe(ctx, room)
	if err != nil {
		return nil, fmt.Errorf("redis: subscribe to %s: %w", room, err)
	}
	return ch, nil
}
