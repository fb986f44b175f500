package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"
)

const (
	searchPause   = 250 * time.Millisecond // between two channels: answers to people come first
	searchWait    = time.Minute            // for Discord to describe the servers
	mostSearched  = 500                    // channels
	lookBackLanes = 50                     // of a resumed connection
)

// search looks for messages that no event told of, because the session that would have done so was lost (DR-30): in the
// channels in use, and in those of servers where something was written meanwhile. Until it is complete, nothing that came
// after counts as safe, so that the next process begins it again.
type search struct {
	since   uint64            // the first id that may have been missed
	seen    map[string]uint64 // the latest message of each channel before
	used    map[string]string // the channels in use, with their servers
	guilds  map[string]bool   // whose channels are not known yet
	found   []target          // channels to fetch, the most important first
	count   int               // of those that were found
	tickets []*ticket         // of the sessions that began without what is searched
	more    chan struct{}     // holds a token if found or guilds has changed
	stopped chan struct{}     // closed when a later search takes over
	over    bool
}

// target is a channel to fetch, and after which message.
type target struct {
	channel, guild string
	after          uint64
}

// search begins one, in the session that a READY has begun, for messages from an id. At the first start there is none.
func (q *intake) search(ctx context.Context, t *ticket, since uint64, ready []byte) {
	if since == 0 || q.age <= 0 {
		return
	}
	var said struct {
		Guilds []struct {
			ID string `json:"id"`
		} `json:"guilds"`
	}
	_ = json.Unmarshal(ready, &said) // without the servers, private chats are searched
	now := time.Now()
	q.mark.hold(t)
	channels, guilds := q.used.recent(now)
	s := &search{
		since: since, seen: map[string]uint64{}, used: guilds, guilds: map[string]bool{},
		tickets: []*ticket{t}, more: make(chan struct{}, 1), stopped: make(chan struct{}),
	}
	for _, g := range said.Guilds {
		s.guilds[g.ID] = true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	if old := q.looking; old != nil && !old.over {
		s.since, s.tickets, old.tickets = min(s.since, old.since), append(old.tickets, t), nil
		close(old.stopped)
	}
	s.since = max(s.since, idAt(now.Add(-q.age)))
	for c, l := range q.lanes {
		s.seen[c] = l.seen
	}
	for _, c := range channels {
		if s.used[c] == "" {
			s.add(target{c, "", max(s.since, s.seen[c])})
		}
	}
	q.looking = s
	q.workers.Go(func() { q.run(ctx, s) })
}

func (s *search) add(t target) {
	if s.count++; s.count <= mostSearched {
		s.found = append(s.found, t)
	}
	s.wake()
}

func (s *search) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// channels takes the description of a server into the search. A channel in use is fetched unless it is known that nothing
// was written; any other only if something was.
func (q *intake) channels(guild string, raw []byte) {
	type channel struct {
		ID   string `json:"id"`
		Last string `json:"last_message_id"`
	}
	var said struct {
		Channels []channel `json:"channels"`
		Threads  []channel `json:"threads"`
	}
	_ = json.Unmarshal(raw, &said) // what can be read counts
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.looking
	if s == nil || !s.guilds[guild] {
		return
	}
	delete(s.guilds, guild)
	all := slices.Concat(said.Channels, said.Threads)
	inUse := func(c channel) int {
		if _, ok := s.used[c.ID]; ok {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b channel) int {
		return cmp.Or(cmp.Compare(inUse(a), inUse(b)), cmp.Compare(snowflake(b.Last), snowflake(a.Last)))
	})
	for _, c := range all {
		after, last := max(s.since, s.seen[c.ID]), snowflake(c.Last)
		if snowflake(c.ID) != 0 && (last > after || last == 0 && inUse(c) == 0) {
			s.add(target{c.ID, guild, after})
		}
	}
	s.wake()
}

// run queues the fetches of s, slowly, until all channels are found.
func (q *intake) run(ctx context.Context, s *search) {
	late := time.After(searchWait)
	for {
		q.mu.Lock()
		next, ok, done := target{}, len(s.found) > 0, len(s.guilds) == 0
		if ok {
			next, s.found = s.found[0], s.found[1:]
			q.seek(ctx, s, next)
		}
		q.mu.Unlock()
		wait := time.After(searchPause)
		switch {
		case ok:
		case done:
			q.complete(s, true)
			return
		default:
			wait = nil
		}
		select {
		case <-wait:
		case <-late: // a server is out of reach; its channels are searched when it is back
			q.complete(s, false)
		case <-s.stopped:
			return
		case <-q.closing:
			return
		case <-ctx.Done():
			return
		case <-more(s, wait):
		}
	}
}

// more is what s waits for where it has nothing to do.
func more(s *search, wait <-chan time.Time) <-chan struct{} {
	if wait != nil {
		return nil
	}
	return s.more
}

// seek queues one fetch, in front of the messages that are later than it. q.mu is held.
func (q *intake) seek(ctx context.Context, s *search, t target) {
	l := q.lane(t.channel)
	if l.guild == "" {
		l.guild = t.guild
	}
	h := gatewayEvent{channel: t.channel, after: t.after}
	if len(s.tickets) > 0 {
		h.ticket = s.tickets[len(s.tickets)-1]
		q.mark.hold(h.ticket)
	}
	at := slices.IndexFunc(l.queue, func(next gatewayEvent) bool { return snowflake(next.message) > t.after })
	if at < 0 {
		at = len(l.queue)
	}
	l.queue = slices.Insert(l.queue, at, h)
	q.waiting++
	q.work(ctx, t.channel, l)
}

// complete lets the sessions count that began without what was searched.
func (q *intake) complete(s *search, over bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s.over = over
	if s.count > mostSearched {
		q.log.Warn("messages may have been missed in more channels than are searched", "channels", s.count, "searched", mostSearched)
	}
	for _, t := range s.tickets {
		q.mark.release(t)
	}
	s.tickets = nil
}

// lookBack looks for messages that a resumed session should have told of and did not (DR-21), in the channels that were
// busy last.
func (q *intake) lookBack(ctx context.Context) {
	if q.age <= 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	var channels []string
	for c, l := range q.lanes {
		if l.seen > 0 {
			channels = append(channels, c)
		}
	}
	slices.SortFunc(channels, func(a, b string) int { return cmp.Compare(q.lanes[b].seen, q.lanes[a].seen) })
	floor := idAt(time.Now().Add(-q.age))
	for _, c := range channels[:min(len(channels), lookBackLanes)] {
		l := q.lanes[c]
		l.queue = append(l.queue, gatewayEvent{channel: c, after: max(l.seen, floor)})
		q.waiting++
		q.work(ctx, c, l)
	}
}
