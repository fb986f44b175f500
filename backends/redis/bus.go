package redis

import (
	"context"
	"encoding/json"
	"fmt"

	goredis "github.com/redis/go-redis/v9"

	"parley/core/chat"
	"parley/core/relay"
)

// Bus is a [relay.Bus] over Redis' publish and subscribe. Frames are lost while Redis is unreachable; subscriptions
// survive, and continue when it is back. It is safe for concurrent use.
type Bus struct {
	circuit  *circuit
	at       layout
	listener *listener // receives for all subscriptions of this replica
}

var _ relay.Bus = (*Bus)(nil)

// Publish implements [relay.Bus]. It takes one round trip, and returns an error within a second if Redis doesn't
// respond.
func (b *Bus) Publish(ctx context.Context, room chat.RoomID, f relay.Frame) error {
	data, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("redis: publish to %s: %w", room, err)
	}
	err = b.circuit.do(ctx, func(ctx context.Context) error { return b.publish(ctx, b.at.framesChannel(room), data) })
	if err != nil {
		return fmt.Errorf("redis: publish to %s: %w", room, err)
	}
	return nil
}

// publish sends data. In a cluster, every node passes messages on to all others, and the client would choose one at
// random. Then frames could overtake each other, and a new reader could receive frames from before its subscription. So
// it uses the node that the listeners use: the one of their first channel.
func (b *Bus) publish(ctx context.Context, channel string, data []byte) error {
	var node goredis.Cmdable = b.circuit.client
	if cluster, ok := b.circuit.client.(*goredis.ClusterClient); ok {
		master, err := cluster.MasterForKey(ctx, b.at.turnsChannel())
		if err != nil {
			return err
		}
		node = master
	}
	return node.Publish(ctx, channel, data).Err()
}

// Subscribe implements [relay.Bus]. It returns when Redis has confirmed the subscription, so nothing published after
// that is missed, or with an error within a second.
func (b *Bus) Subscribe(ctx context.Context, room chat.RoomID) (<-chan relay.Frame, error) {
	ch, err := b.listener.subscribe(ctx, room)
	if err != nil {
		return nil, fmt.Errorf("redis: subscribe to %s: %w", room, err)
	}
	return ch, nil
}
