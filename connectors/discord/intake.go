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
	mostQueued  = 100              // events in one lane
	mostWaiting = 5000             // in all lanes
	mostLanes   = 2000             //
	mostPanics  = 3                // of the handler, for one message
	handlerTime = 20 * time.Second // for one message, including the lookup of its channel
	leastRetry  = time.Second      // back-off after a failed handler
	mostRetry   = 30 * time.Second //
)

// intake delivers messages to the gateway. Each channel has a lane with one worker, which keeps its messages in order
// without delaying other channels. A full lane accepts nothing more; what it misses is fetched once it is empty.
type intake struct {
	handler connectors.Handler
	me      string
	client  *client
	places  *places
	log     *slog.Logger
	mark    *watermark
	used    *used
	age     time.Duration // maximum age of messages fetched after a lost session; 0 fetches none
	fetches chan struct{} // limits concurrent fetches

	choices *connectors.Jobs[string] // presses to process, by channel
	answers *connectors.Jobs[string] // answers to presses

	now *ticket // of the event being processed

	mu      sync.Mutex
	lanes   map[string]*lane
	waiting int
	looking *search // for messages that no session delivered; nil if there was none
	closed  bool
	closing chan struct{} // closed with closed
	workers sync.WaitGroup
}

// lane is the queue of one channel. An empty lane is kept, because it records the last message seen.
type lane struct {
	guild   string
	queue   []gatewayEvent
	seen    uint64    // the latest queued or delivered message
	gap     bool      // there may be unqueued messages after seen
	owed    []*ticket // of the events whose messages are in the gap
	working bool
}

// gatewayEvent is one event to deliver. Its inbound may make requests to Discord. Without an inbound it stands for the
// messages of its channel after an id, which are to be fetched.
type gatewayEvent struct {
	channel, message string // its channel and message; the message may be empty
	inbound          func(context.Context) chat.Inbound
	after            uint64
	ticket           *ticket // held until the event is stored
}

func newIntake(d *Discord, me string, h connectors.Handler, k *keeper) *intake {
	return &intake{
		handler: h, me: me, client: d.client, places: d.places, log: d.log, mark: k.mark, used: k.used, age: d.config.CatchUp,
		fetches: make(chan struct{}, 2), lanes: map[string]*lane{}, closing: make(chan struct{}),
		choices: connectors.NewJobs[string](pressWorkers, mostPresses), answers: connectors.NewJobs[string](pressWorkers, mostPresses),
	}
}

// event processes one gateway event. Its ticket is held until everything in it is stored. Calls must not overlap.
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

// hold returns the current event's ticket with an additional hold.
func (q *intake) hold() *ticket {
	if q.now != nil {
		q.mark.hold(q.now)
	}
	return q.now
}

// take queues m without blocking.
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
		q.hold() // never released, so that Discord resends the event
		return
	}
	q.used.note(m.Channel, m.Guild, time.Now())
	l := q.lane(m.Channel)
	l.guild = m.Guild
	switch {
	case l.gap: // it will be fetched with the earlier messages
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

// written returns the event of a new message.
func (q *intake) written(m message) gatewayEvent {
	return gatewayEvent{channel: m.Channel, message: m.ID, inbound: func(ctx context.Context) chat.Inbound {
		return m.inbound(q.me, q.places.of(ctx, m))
	}}
}

// note queues a change of messages behind the other events of the channel. Such changes can't be fetched later: if the
// queue is full, they are lost.
func (q *intake) note(ctx context.Context, channel, message string, in chat.Inbound) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		q.hold() // never released, so that Discord resends the event
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

// lane returns a channel's lane, creating it if needed. If there are too many, it replaces the one with the oldest
// activity.
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

// work starts l's worker unless it is running.
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

// close stops accepting events. It returns when all accepted ones are delivered or have failed: after the end of its
// context each message gets one attempt.
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

// step processes the next event in l; it returns false if there is none.
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
		l.gap = false // from now on messages are queued again, behind the fetched ones
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

// deliver returns true when h is stored, or dropped because it makes the handler panic; it returns false if ctx ends
// first.
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

// hand calls the handler with h. The end of ctx does not interrupt the handler.
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

// pause waits for d; it returns false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// jitter returns a random duration between a quarter of d and d.
func jitter(d time.Duration) time.Duration { return d/4 + rand.N(d-d/4+1) }
