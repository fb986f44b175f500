package redis

import (
	"context"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"parley/backends/inmem"
	"parley/core/chat"
	"parley/core/relay"
	"parley/internal/rest"
)

const (
	quietFor   = 3 * time.Second // the time between two pings; a connection that is cut silently is noticed within that and limit
	backOffMin = 50 * time.Millisecond
	backOffMax = time.Second
)

// listener owns the one connection for subscriptions: to the announcements of turns, and to the frames of rooms that
// have readers on this replica. A connection that fails or falls silent is replaced by a new session; readers stay, and
// miss frames that are published in between. Its goroutine is run.
type listener struct {
	circuit *circuit
	at      layout
	tracker *Tracker
	log     *slog.Logger
	down    atomic.Bool
	local   *inmem.Bus // hands frames to the readers of this replica

	// mu guards the fields below. It is held while subscribing, so that the session that is in use is subscribed to
	// exactly the rooms in readers.
	mu      sync.Mutex
	readers map[chat.RoomID]int // the number of readers of each room that has some
	live    *session            // the session in use; nil between sessions
	turned  chan struct{}       // closed when live changes
}

func newListener(breaker *circuit, at layout, tracker *Tracker, log *slog.Logger) *listener {
	return &listener{
		circuit: breaker, at: at, tracker: tracker, log: log,
		local:   inmem.NewBus(),
		readers: map[chat.RoomID]int{},
		turned:  make(chan struct{}),
	}
}

// run holds one session after another until ctx is done, with random pauses that grow while Redis is unreachable, so
// that replicas don't all return at once.
func (l *listener) run(ctx context.Context) {
	wait := backOffMin
	for {
		began := time.Now()
		err := l.session(ctx, func() {
			if l.down.Swap(false) {
				l.log.Info("redis: connected again")
			}
		})
		if ctx.Err() != nil {
			return
		}
		if !l.down.Swap(true) {
			l.log.Warn("redis: unreachable; turns of other replicas are not visible until it is back", "err", err)
		}
		if time.Since(began) > backOffMax {
			wait = backOffMin
		}
		if rest.For(ctx, wait/2+rand.N(wait)) != nil {
			return
		}
		wait = min(2*wait, backOffMax)
	}
}

// session listens on one connection until that fails or ctx is done, and returns why. It calls up when the connection
// works.
func (l *listener) session(ctx context.Context, up func()) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s := &session{pubsub: l.circuit.client.Subscribe(ctx), pongs: map[string]chan struct{}{}}
	context.AfterFunc(ctx, func() { _ = s.pubsub.Close() }) // also at the end; a read doesn't watch ctx, only closing ends it
	if err := s.subscribe(ctx, l.at.turnsChannel()); err != nil {
		return err
	}
	// The other goroutine of a session sends pings; this one must read their replies. Whichever fails first ends both.
	var health sync.WaitGroup
	defer health.Wait()
	defer end(nil)
	health.Go(func() {
		if err := l.tend(ctx, s, up); err != nil {
			end(err)
		}
	})
	for {
		msg, err := s.pubsub.Receive(ctx)
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if err != nil {
			return err
		}
		l.hear(s, msg)
	}
}

// tend takes the session into use and pings until it fails or ctx is done.
func (l *listener) tend(ctx context.Context, s *session, up func()) error {
	if err := l.adopt(ctx, s); err != nil {
		return err
	}
	defer l.drop()
	if err := s.roundTrip(ctx); err != nil {
		return err
	}
	up()
	l.tracker.checkSoon() // catch up on announcements that were missed while disconnected
	for rest.For(ctx, quietFor) == nil {
		if err := s.roundTrip(ctx); err != nil {
			return err
		}
	}
	return nil
}

// adopt subscribes s to all rooms that have readers, and makes it the session that new readers use. Both happen under
// mu, so no reader that enters meanwhile is left out.
func (l *listener) adopt(ctx context.Context, s *session) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var channels []string
	for room := range l.readers {
		channels = append(channels, l.at.framesChannel(room))
	}
	if len(channels) > 0 {
		if err := s.subscribe(ctx, channels...); err != nil {
			return err
		}
	}
	l.turn(s)
	return nil
}

// drop takes the session out of use: new readers wait for the next one.
func (l *listener) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(nil)
}

// turn changes the session in use and wakes those that wait for a change. The caller holds mu.
func (l *listener) turn(s *session) {
	l.live = s
	close(l.turned)
	l.turned = make(chan struct{})
}

// hear handles a message. It never blocks, as it holds up the connection: a slow reader misses messages.
func (l *listener) hear(s *session, msg any) {
	switch msg := msg.(type) {
	case *goredis.Pong:
		s.pong(msg.Payload)
	case *goredis.Message:
		if msg.Channel == l.at.turnsChannel() {
			l.hearTurn(msg.Payload)
		} else if room, ok := strings.CutPrefix(msg.Channel, l.at.framesPrefix()); ok {
			l.hearFrame(chat.RoomID(room), msg.Payload)
		}
	}
}

// hearTurn applies an announcement of any replica, including this one. An unreadable one can come from another version,
// and is ignored: keep finds out the same.
func (l *listener) hearTurn(payload string) {
	var a announcement
	if err := json.Unmarshal([]byte(payload), &a); err != nil {
		l.log.Debug("redis: an announcement can't be read", "err", err)
		return
	}
	l.tracker.local.Learn(a.Agent, a.Room, inmem.Marks{Latest: a.Latest, Stopped: a.Stopped})
}

// hearFrame passes a frame to the readers of its room on this replica.
func (l *listener) hearFrame(room chat.RoomID, payload string) {
	var f relay.Frame
	if err := json.Unmarshal([]byte(payload), &f); err != nil {
		l.log.Debug("redis: a frame can't be read", "room", room, "err", err)
		return
	}
	_ = l.local.Publish(context.Background(), room, f) // in memory it never fails
}

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
