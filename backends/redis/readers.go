package redis

import (
	"context"

	"parley/core/chat"
	"parley/core/relay"
)

// subscribe adds a reader to room until ctx is done, and returns when the server has confirmed the subscription.
func (l *listener) subscribe(ctx context.Context, room chat.RoomID) (<-chan relay.Frame, error) {
	err := l.enter(ctx, room)
	if err == nil {
		err = l.circuit.err()
	}
	if err == nil {
		err = attempt(ctx, l.confirmed)
	}
	if err != nil {
		l.leave(room)
		return nil, err
	}
	context.AfterFunc(ctx, func() { l.leave(room) })
	return l.local.Subscribe(ctx, room)
}

// enter counts a reader; the first of a room subscribes. If subscribing fails, the connection is broken: the session
// ends, and the next one subscribes to the room.
func (l *listener) enter(ctx context.Context, room chat.RoomID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readers[room]++
	if l.readers[room] > 1 || l.live == nil {
		return nil
	}
	return l.live.subscribe(ctx, l.at.framesChannel(room))
}

// leave removes a reader; the last of a room unsubscribes.
func (l *listener) leave(room chat.RoomID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readers[room]--
	if l.readers[room] > 0 {
		return
	}
	delete(l.readers, room)
	if l.live != nil {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		// If it fails the session will, and the next one doesn't subscribe.
		_ = l.live.pubsub.Unsubscribe(ctx, l.at.framesChannel(room))
	}
}

// confirmed waits until a session listens to all rooms with readers. Redis handles the commands of a
// connection in order, so the reply to a ping means that the subscriptions before it are in effect.
func (l *listener) confirmed(ctx context.Context) error {
	for {
		l.mu.Lock()
		live, turned := l.live, l.turned
		l.mu.Unlock()
		if live != nil && live.roundTrip(ctx) == nil {
			return nil
		}
		select {
		case <-turned:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
