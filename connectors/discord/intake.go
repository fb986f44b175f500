package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"parley/connectors"
	"parley/core"
)

const (
	mostQueued   = 100              // happenings in one lane
	mostWaiting  = 5000             // in all of them
	mostLanes    = 2000             //
	mostPanics   = 3                // of the handler, over one message
	handlerTime  = 20 * time.Second // for one message, and to ask for its channel
	leastRetry   = time.Second      // after a failure of the handler
	mostRetry    = 30 * time.Second //
	catchUpLanes = 50               // of a new connection
)

// intake hands messages to the gateway. Each channel has a lane of its own with one worker, so that order holds within
// it and no other waits for it. A lane that is full takes nothing more: what it misses is fetched once it is empty.
type intake struct {
	handler connectors.Handler
	me      string
	client  *client
	places  *places
	log     *slog.Logger
	fetches chan struct{} // a place for each fetch under way

	mu      sync.Mutex
	lanes   map[string]*lane
	waiting int
	closed  bool
	workers sync.WaitGroup
}

// lane is one channel. It is remembered when it is empty: it knows what was seen last.
type lane struct {
	guild   string
	queue   []happening
	seen    uint64 // the latest message that was queued or handed in
	gap     bool   // there may be messages after seen that nobody has queued
	working bool
}

// happening is one thing to hand in. Its inbound may ask Discord.
type happening struct {
	channel, message string // where, and what it is about; the message may be empty
	inbound          func(context.Context) core.Inbound
}

func newIntake(d *Discord, me string, h connectors.Handler) *intake {
	return &intake{
		handler: h, me: me, client: d.client, places: d.places, log: d.log,
		fetches: make(chan struct{}, 2), lanes: map[string]*lane{},
	}
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
		return
	}
	l := q.lane(m.Channel)
	l.guild = m.Guild
	switch {
	case l.gap: // it is fetched with what came before
		return
	case len(l.queue) >= mostQueued, q.waiting >= mostWaiting:
		q.log.Warn("more messages than can be handed in; the rest is fetched later", "channel", m.Channel)
		l.gap = true
	default:
		l.queue = append(l.queue, q.written(m))
		l.seen = max(l.seen, snowflake(m.ID))
		q.waiting++
	}
	q.work(ctx, m.Channel, l)
}

// written is what it means that m was written.
func (q *intake) written(m message) happening {
	return happening{m.Channel, m.ID, func(ctx context.Context) core.Inbound { return m.inbound(q.me, q.places.of(ctx, m)) }}
}

// note queues what happened to messages, behind those of its channel. Nothing can be fetched in its place: where there is
// too much, it is lost.
func (q *intake) note(ctx context.Context, channel, message string, in core.Inbound) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	l := q.lane(channel)
	if len(l.queue) >= mostQueued || q.waiting >= mostWaiting {
		q.log.Warn("more happens than can be handed in; something is lost", "channel", channel, "kind", fmt.Sprintf("%T", in))
		return
	}
	l.queue = append(l.queue, happening{channel, message, func(context.Context) core.Inbound { return in }})
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

// catchUp looks for messages that no event told of, in the channels that were busy last.
func (q *intake) catchUp(ctx context.Context) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var channels []string
	for c, l := range q.lanes {
		if l.seen > 0 {
			channels = append(channels, c)
		}
	}
	slices.SortFunc(channels, func(a, b string) int { return cmp.Compare(q.lanes[b].seen, q.lanes[a].seen) })
	for _, c := range channels[:min(len(channels), catchUpLanes)] {
		q.lanes[c].gap = true
		q.work(ctx, c, q.lanes[c])
	}
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
	q.closed = true
	q.mu.Unlock()
	q.workers.Wait()
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
		q.deliver(ctx, h)
		return true
	case l.gap && ctx.Err() == nil:
		l.gap = false // from now on messages are queued, behind those that are fetched
		after, guild := l.seen, l.guild
		q.mu.Unlock()
		for _, m := range q.missed(ctx, channel, after) {
			m.Guild = guild
			if m.concerns(q.me) {
				q.deliver(ctx, q.written(m))
			}
			q.mu.Lock()
			l.seen = max(l.seen, snowflake(m.ID))
			q.mu.Unlock()
		}
		return true
	}
	l.working = false
	q.mu.Unlock()
	return false
}

// deliver returns when h is safe, or given up because it makes the handler panic.
func (q *intake) deliver(ctx context.Context, h happening) {
	wait, panics := leastRetry, 0
	for {
		err := q.hand(ctx, h)
		switch {
		case err == nil:
			return
		case errors.Is(err, core.ErrTooLarge):
			panics = mostPanics
		case errors.Is(err, errPanic):
			panics++
		}
		log := q.log.With("channel", h.channel, "message", h.message, "err", err)
		if panics >= mostPanics {
			log.Error("a message can't be handed in and is dropped")
			return
		}
		if ctx.Err() != nil {
			log.Error("the gateway ends with a message that is not safe")
			return
		}
		log.Warn("a message is not safe yet; its channel waits", "again", wait)
		pause(ctx, wait)
		wait = min(2*wait, mostRetry)
	}
}

var errPanic = errors.New("panic")

// hand gives h to the handler, which is not cut off by the end of ctx.
func (q *intake) hand(ctx context.Context, h happening) (err error) {
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
