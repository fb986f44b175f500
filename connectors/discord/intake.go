package discord

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"parley/connectors"
	"parley/core/chat"
)

const (
	mostQueued  = 100              // happenings in one lane
	mostWaiting = 5000             // in all of them
	mostLanes   = 2000             //
	mostPanics  = 3                // of the handler, over one message
	handlerTime = 20 * time.Second // for one message, and to ask for its channel
	leastRetry  = time.Second      // after a failure of the handler
	mostRetry   = 30 * time.Second //
)

// intake hands messages to the gateway. Each channel has a lane of its own with one worker, so that order holds within
// it and no other waits for it. A lane that is full takes nothing more: what it misses is fetched once it is empty.
type intake struct {
	handler connectors.Handler
	me      string
	client  *client
	places  *places
	log     *slog.Logger
	mark    *watermark
	used    *used
	age     time.Duration // of what is fetched after a lost session; 0 fetches nothing
	fetches chan struct{} // a place for each fetch under way

	choices *connectors.Jobs[string] // presses to be taken, by channel
	answers *connectors.Jobs[string] // what is said to them

	now *ticket // of the event that is being taken

	mu      sync.Mutex
	lanes   map[string]*lane
	waiting int
	looking *search // for what no session was told; nil if there was none
	closed  bool
	closing chan struct{} // closed with closed
	workers sync.WaitGroup
}

// lane is one channel. It is remembered when it is empty: it knows what was seen last.
type lane struct {
	guild   string
	queue   []gatewayEvent
	seen    uint64    // the latest message that was queued or handed in
	gap     bool      // there may be messages after seen that are not queued
	owed    []*ticket // of the events whose messages are in the gap
	working bool
}

// gatewayEvent is one thing to hand in. Its inbound may ask Discord. Without an inbound it stands for the messages of its
// channel after an id, which are to be fetched.
type gatewayEvent struct {
	channel, message string // where, and what it is about; the message may be empty
	inbound          func(context.Context) chat.Inbound
	after            uint64
	ticket           *ticket // held until it is safe
}

func newIntake(d *Discord, me string, h connectors.Handler, k *keeper) *intake {
	return &intake{
		handler: h, me: me, client: d.client, places: d.places, log: d.log, mark: k.mark, used: k.used, age: d.catchUp,
		fetches: make(chan struct{}, 2), lanes: map[string]*lane{}, closing: make(chan struct{}),
		choices: connectors.NewJobs[string](pressWorkers, mostPresses), answers: connectors.NewJobs[string](pressWorkers, mostPresses),
	}
}

// event takes one event of the gateway, whose ticket is held until all of it is safe. It is called for one at a time.
func (q *intake) event(ctx context.Context, t *ticket, kind string, raw []byte) error {
	q.now = t
	defer func() { q.now = nil }()
	switch kind {
	case "MESSAGE_CREATE":
		m, err := parseMessage(raw)
		if err == nil {
			q.take(ctx, m)
		}
		return err
	case "INTERACTION_CREATE":
		return q.pressed(ctx, raw)
	}
	return q.changed(ctx, kind, raw)
}

// hold returns the ticket of the event under way, held once more.
func (q *intake) hold() *ticket {
	if q.now != nil {
		q.mark.hold(q.now)
	}
	return q.now
}

// take queues m, at once.
func (q *intake) take(ctx context.Context, m message) {
	if m.Type == joinedMessage {
		q.greeted(ctx, m)
	}
	if !m.concerns(q.me) {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		q.hold() // for good: it comes again
		return
	}
	q.used.note(m.Channel, m.Guild, time.Now())
	l := q.lane(m.Channel)
	l.guild = m.Guild
	switch {
	case l.gap: // it is fetched with what came before
		l.owed = append(l.owed, q.hold())
		return
	case len(l.queue) >= mostQueued, q.waiting >= mostWaiting:
		q.log.Warn("too many messages at once; the rest will be fetched later", "channel", m.Channel)
		l.gap, l.owed = true, append(l.owed, q.hold())
	default:
		h := q.written(m)
		h.ticket = q.hold()
		l.queue = append(l.queue, h)
		l.seen = max(l.seen, snowflake(m.ID))
		q.waiting++
	}
	q.work(ctx, m.Channel, l)
}

// written is what it means that m was written.
func (q *intake) written(m message) gatewayEvent {
	return gatewayEvent{channel: m.Channel, message: m.ID, inbound: func(ctx context.Context) chat.Inbound {
		return m.inbound(q.me, q.places.of(ctx, m))
	}}
}

// note queues what happened to messages, behind those of its channel. Nothing can be fetched in its place: where there is
// too much, it is lost.
func (q *intake) note(ctx context.Context, channel, message string, in chat.Inbound) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		q.hold() // for good: it comes again
		return
	}
	l := q.lane(channel)
	if len(l.queue) >= mostQueued || q.waiting >= mostWaiting {
		q.log.Warn("too many events at once; some are dropped", "channel", channel, "kind", fmt.Sprintf("%T", in))
		return
	}
	l.queue = append(l.queue, gatewayEvent{
		channel: channel, message: message, inbound: func(context.Context) chat.Inbound { return in }, ticket: q.hold(),
	})
	q.waiting++
	q.work(ctx, channel, l)
}

// lane finds or makes a channel's lane. The one that was silent for the longest makes room.
func (q *intake) lane(channel string) *lane {
	if l := q.lanes[channel]; l != nil {
		return l
	}
	if len(q.lanes) >= mostLanes {
		oldest := ""
		for c, l := range q.lanes {
			if !l.working && (oldest == "" || l.seen < q.lanes[oldest].seen) {
				oldest = c
			}
		}
		delete(q.lanes, oldest)
	}
	l := &lane{}
	q.lanes[channel] = l
	return l
}

// work starts l's worker unless it is there.
func (q *intake) work(ctx context.Context, channel string, l *lane) {
	if l.working || q.closed {
		return
	}
	l.working = true
	q.workers.Go(func() {
		for q.step(ctx, channel, l) {
		}
	})
}

// close takes nothing more. It returns when all that was taken is handed in, or can't be: after the end of its context
// each message has one try.
func (q *intake) close() {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.closing)
	}
	q.mu.Unlock()
	q.workers.Wait()
	q.choices.Wait()
	q.answers.Wait()
}

// step does what is next in l; it is false when there is nothing.
func (q *intake) step(ctx context.Context, channel string, l *lane) bool {
	q.mu.Lock()
	switch {
	case len(l.queue) > 0:
		h := l.queue[0]
		l.queue = l.queue[1:]
		q.waiting--
		q.mu.Unlock()
		if h.inbound == nil {
			q.fill(ctx, l, h)
		} else if q.deliver(ctx, h) {
			q.mark.release(h.ticket)
		}
		return true
	case l.gap && ctx.Err() == nil:
		l.gap = false // from now on messages are queued, behind those that are fetched
		after, owed := l.seen, l.owed
		l.owed = nil
		q.mu.Unlock()
		q.catchUp(ctx, channel, l, after, owed)
		return true
	}
	l.working = false
	q.mu.Unlock()
	return false
}

// deliver returns when h is safe, or given up because it makes the handler panic; it is false if neither is true at the
// end of ctx.
func (q *intake) deliver(ctx context.Context, h gatewayEvent) bool {
	wait, panics := leastRetry, 0
	for {
		err := q.hand(ctx, h)
		switch {
		case err == nil:
			return true
		case errors.Is(err, chat.ErrTooLarge):
			panics = mostPanics
		case errors.Is(err, errPanic):
			panics++
		}
		log := q.log.With("channel", h.channel, "message", h.message, "err", err)
		if panics >= mostPanics {
			log.Error("a message can't be processed and is dropped")
			return true
		}
		if ctx.Err() != nil {
			log.Error("shutting down with an unsaved message; it will be fetched at the next start")
			return false
		}
		log.Warn("a message can't be saved yet; its channel waits", "again", wait)
		pause(ctx, wait)
		wait = min(2*wait, mostRetry)
	}
}

var errPanic = errors.New("panic")

// hand gives h to the handler, which is not cut off by the end of ctx.
func (q *intake) hand(ctx context.Context, h gatewayEvent) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanic, p, debug.Stack())
		}
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handlerTime)
	defer cancel()
	_, err = q.handler(ctx, h.inbound(ctx))
	return err
}

// pause is false if ctx ended before d had passed.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// jitter is between a quarter of d and all of it.
func jitter(d time.Duration) time.Duration { return d/4 + rand.N(d-d/4+1) }
