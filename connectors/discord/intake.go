package discord

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"parley/connectors"
	"parley/core/chat"
)

const (
	mostQueued   = 100              // events of one channel
	mostWaiting  = 5000             // of all channels
	mostChannels = 2000             // whose state is kept
	handlerTime  = 20 * time.Second // for one message, including the lookup of its channel
	leastRetry   = time.Second      // back-off after a failed fetch
)

// intake delivers messages to the gateway: in order within a channel, many channels at a time. It never blocks the
// reader of the connection, which must answer heartbeats.
//
// A channel with too many waiting events accepts no more messages; the missed ones are fetched after them, by the event
// that gap returns. Other events (edits, deletions, reactions) can't be fetched later, and are dropped when there is no
// room.
//
// Button presses take another way, because they expire within seconds and must not wait behind messages: see pressed.
type intake struct {
	handler connectors.Handler
	me      string
	client  *client
	places  *places
	threads *threads
	roles   *ownRoles
	log     *slog.Logger
	events  *connectors.Intake[string, session] // by channel
	used    *used
	age     time.Duration // maximum age of messages fetched after a lost session; 0 fetches none
	fetches chan struct{} // limits concurrent fetches of all shards
	acks    *acks
	abouts  *abouts

	choices *connectors.Jobs[string] // presses to process, by channel
	answers *connectors.Jobs[string] // answers to presses

	// now is the ticket of the event being processed, and belongs to the goroutine that calls event.
	now *ticket

	// mu guards channels, their fields and looking. It is taken before the locks of events and used, never after.
	mu       sync.Mutex
	channels map[string]*channel
	looking  *search       // for messages that no session delivered; nil if there was none
	closing  chan struct{} // closed at the end
	searches sync.WaitGroup
}

// channel is the state of a channel in use. The lock of the intake guards it.
type channel struct {
	guild string
	seen  uint64    // the latest queued or delivered message
	gap   bool      // there may be unqueued messages after seen; an event is queued that fetches them
	owed  []*ticket // of the events whose messages are in the gap
}

// newIntake returns the intake of a shard.
func newIntake(d *Discord, me string, h connectors.Handler, k *keeper) *intake {
	return &intake{
		handler: h, me: me, client: d.client, places: d.places, threads: d.threads, roles: &ownRoles{client: d.client, me: me}, log: k.log, events: k.events, used: k.used, age: d.config.CatchUp,
		fetches: d.fetches, acks: d.acks, abouts: d.abouts, channels: map[string]*channel{}, closing: make(chan struct{}),
		choices: connectors.NewJobs[string](pressWorkers, mostPresses), answers: connectors.NewJobs[string](pressWorkers, mostPresses),
	}
}

// event processes one gateway event, without blocking. Holds are added to its ticket until everything in it is stored.
// Its error means that the event can't be read. Calls must not overlap.
func (q *intake) event(ctx context.Context, t *ticket, kind string, raw []byte) error {
	q.now = t
	defer func() { q.now = nil }()
	switch kind {
	case "MESSAGE_CREATE":
		m, err := parseMessage(raw)
		if err == nil {
			q.take(m)
		}
		return err
	case "INTERACTION_CREATE":
		return q.interacted(ctx, raw)
	}
	return q.changed(kind, raw)
}

// take queues m without blocking. If there is no room for a message, it is not kept in memory: its channel gets a gap,
// and its ticket is held until the gap is fetched, so that a crash before that makes Discord deliver it again.
func (q *intake) take(m message) {
	if m.Type == joinedMessage {
		q.greeted(m)
	}
	if !m.concerns(q.me) {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.used.note(m.Channel, m.Guild, time.Now())
	c := q.channel(m.Channel)
	c.guild = m.Guild
	t := q.now.Hold()
	switch {
	// The gap fetches this message together with the earlier ones. Queueing it now would put it before them.
	case c.gap:
		c.owed = append(c.owed, t)
	case q.events.Add(m.Channel, q.written(m, t)):
		c.seen = max(c.seen, snowflake(m.ID))
	default:
		q.log.Warn("too many messages at once; the rest will be fetched later", "channel", m.Channel)
		c.owed = append(c.owed, t)
		q.events.Rearrange(m.Channel, func(waiting []queued) []queued { return append(waiting, q.gap(m.Channel, c)) })
	}
}

// queued is an event that waits in its channel.
type queued = connectors.Event[session]

// written returns the event of a new message. Its channel is looked up only when it is delivered, because a request
// would block the reader.
func (q *intake) written(m message, t *ticket) queued {
	return queued{ID: m.ID, Ticket: t, Deliver: func(ctx context.Context) error {
		return q.hand(ctx, func(ctx context.Context) chat.Inbound { return q.read(ctx, m) })
	}}
}

// read converts m to an inbound event, with what messages don't say about their channel and server.
func (q *intake) read(ctx context.Context, m message) chat.Inbound {
	m.ownRole = q.roles.of(ctx, m)
	p := q.places.of(ctx, m)
	in := m.inbound(q.me, p)
	if q.threads.begins(m, in, q.me) {
		return m.begin(in)
	}
	q.threads.addStart(ctx, m, p, &in, q.me)
	return in
}

// note queues a change of messages behind the other events of the channel, so that a deletion never overtakes the
// message. Such changes can't be fetched later: if the queue is full, they are logged and lost.
func (q *intake) note(channel, message string, in chat.Inbound) {
	q.noteLater(channel, message, fmt.Sprintf("%T", in), func(context.Context) chat.Inbound { return in })
}

// noteLater is note for a change that is made when it is delivered. kind is its kind, for the log.
func (q *intake) noteLater(channel, message, kind string, in func(context.Context) chat.Inbound) {
	t := q.now.Hold()
	ok := q.events.Add(channel, queued{ID: message, Ticket: t, Deliver: func(ctx context.Context) error { return q.hand(ctx, in) }})
	if !ok {
		q.log.Warn("too many events at once; some are dropped", "channel", channel, "kind", kind)
		t.Release()
	}
}

// channel returns a channel's state, creating it if needed. If there are too many, it replaces the one with the oldest
// activity. One with a gap is kept: its owed tickets would never be released. It requires q.mu.
func (q *intake) channel(id string) *channel {
	if c := q.channels[id]; c != nil {
		return c
	}
	if len(q.channels) >= mostChannels {
		oldest := ""
		for id, c := range q.channels {
			if !c.gap && (oldest == "" || c.seen < q.channels[oldest].seen) {
				oldest = id
			}
		}
		delete(q.channels, oldest)
	}
	c := &channel{}
	q.channels[id] = c
	return c
}

// close returns when all accepted events are delivered or have failed. The searches end first, because they queue
// events.
func (q *intake) close() {
	q.mu.Lock()
	close(q.closing)
	q.mu.Unlock()
	q.searches.Wait()
	q.events.Close()
	q.choices.Wait()
	q.answers.Wait()
}

// hand calls the handler. The end of ctx does not interrupt it, so that a shutdown finishes calls that have begun; the
// time limit of a call does. inbound is called within that limit, because it may make requests to Discord.
func (q *intake) hand(ctx context.Context, inbound func(context.Context) chat.Inbound) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handlerTime)
	defer cancel()
	_, err := q.handler(ctx, inbound(ctx))
	return err
}

// jitter returns a random duration between a quarter of d and d.
func jitter(d time.Duration) time.Duration { return d/4 + rand.N(d-d/4+1) }
