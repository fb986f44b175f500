package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"
)

const (
	searchPause    = 250 * time.Millisecond // between two channels, so that answers to users have priority
	searchWait     = time.Minute            // maximum wait for Discord to describe the servers
	mostSearched   = 500                    // channels
	mostLookedBack = 50                     // channels searched after a resume
)

// search fetches messages that no event announced because their session was lost: in the channels in use, and in
// servers where a message arrived meanwhile. Until it is complete no later event counts as stored, so that the next
// process repeats an interrupted search.
//
// It is bounded: one page per channel, mostSearched channels, one request in searchPause. A bot in many servers
// therefore answers new messages while it still searches. The lock of the intake guards its fields.
type search struct {
	since uint64            // the first id that may have been missed
	seen  map[string]uint64 // the latest earlier message, by channel
	// used has the channels in use and their servers; the server is empty for direct messages.
	used    map[string]string
	guilds  map[string]bool // servers that are not yet described
	found   []target        // channels to fetch, most important first
	count   int             // length of found so far
	tickets []*ticket       // of the sessions whose predecessors are searched
	more    chan struct{}   // holds a token if found or guilds has changed
	stopped chan struct{}   // closed when a later search takes over
	over    bool
}

// maskedChannel is the flag of a channel that the bot can't view: its data mean nothing.
const maskedChannel = 1 << 17

// target is a channel to fetch, and the message to start after.
type target struct {
	channel, guild string
	after          uint64
}

// search starts a search for messages after an id, in the session of a READY. The first start of a bot has none. READY
// lists the servers, and each is described by an event of its own afterwards, so the search continues in the
// background: direct messages at once, a server's channels when it is described.
func (q *intake) search(ctx context.Context, t *ticket, since uint64, ready []byte) {
	if since == 0 || q.age <= 0 {
		return
	}
	var said struct {
		Guilds []struct {
			ID string `json:"id"`
		} `json:"guilds"`
	}
	_ = json.Unmarshal(ready, &said) // without the servers, direct messages are still searched
	now := time.Now()
	t.Hold()
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
	// A session that was lost during a search: the new search covers the time of both, and takes over the tickets, so
	// that the positions of both sessions wait for it.
	if old := q.looking; old != nil && !old.over {
		s.since, s.tickets, old.tickets = min(s.since, old.since), append(old.tickets, t), nil
		close(old.stopped)
	}
	s.since = max(s.since, idAt(now.Add(-q.age)))
	// Messages that this process has already queued need no fetch.
	for id, c := range q.channels {
		s.seen[id] = c.seen
	}
	for _, c := range channels {
		if s.used[c] == "" {
			s.add(target{c, "", max(s.since, s.seen[c])})
		}
	}
	q.looking = s
	q.searches.Go(func() { q.run(ctx, s) })
}

// add queues a channel to fetch, unless there are too many. It counts those too, for the log. It requires the lock of
// the intake.
func (s *search) add(t target) {
	if s.count++; s.count <= mostSearched {
		s.found = append(s.found, t)
	}
	s.wake()
}

// wake makes run look again. The channel holds one token, so it never blocks.
func (s *search) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// described adds a server's channels to the search. A channel in use is fetched unless it is known to have no new
// message; any other only if it has one. Channels in use come first, then the ones with the latest messages, because
// the number of channels is limited.
func (q *intake) described(guild string, raw []byte) {
	type channel struct {
		ID    string `json:"id"`
		Last  string `json:"last_message_id"`
		Flags int    `json:"flags"`
	}
	var said struct {
		Channels []channel `json:"channels"`
		Threads  []channel `json:"threads"`
	}
	_ = json.Unmarshal(raw, &said) // the readable part is used
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.looking
	// Servers describe themselves again after an outage; only the first description after a READY counts for the
	// search.
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
		if c.Flags&maskedChannel != 0 {
			continue // the bot can't view it: each request would be refused
		}
		// Discord names the last message of most channels. If it is not later than the last seen message, a fetch would
		// find nothing.
		if snowflake(c.ID) != 0 && (last > after || last == 0 && inUse(c) == 0) {
			s.add(target{c.ID, guild, after})
		}
	}
	s.wake()
}

// run queues the fetches of s slowly, until all channels are known, until another search takes over, or until the
// intake is closed. It is the only goroutine of s.
func (q *intake) run(ctx context.Context, s *search) {
	late := time.After(searchWait)
	for {
		q.mu.Lock()
		next, ok, done := target{}, len(s.found) > 0, len(s.guilds) == 0
		if ok {
			next, s.found = s.found[0], s.found[1:]
			q.seek(s, next)
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
		// A server is unavailable. The tickets are released, because otherwise no position would be stored for as long
		// as that lasts; the server's channels are searched when it is back.
		case <-late:
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

// more returns the channel that run waits on when it has nothing to do: nil, which blocks, while it pauses between two
// fetches.
func more(s *search, wait <-chan time.Time) <-chan struct{} {
	if wait != nil {
		return nil
	}
	return s.more
}

// seek queues one fetch, ahead of the waiting messages that are later than those it fetches, so that they are delivered
// in order. The fetch holds the ticket of the newest session. It requires q.mu.
func (q *intake) seek(s *search, t target) {
	c := q.channel(t.channel)
	if c.guild == "" {
		c.guild = t.guild
	}
	var session *ticket
	if len(s.tickets) > 0 {
		session = s.tickets[len(s.tickets)-1]
	}
	q.events.Rearrange(t.channel, func(waiting []queued) []queued {
		at := slices.IndexFunc(waiting, func(e queued) bool { return snowflake(e.ID) > t.after })
		if at < 0 {
			at = len(waiting)
		}
		return slices.Insert(waiting, at, q.fill(t.channel, c, t.after, session))
	})
}

// complete releases the tickets of the sessions that depended on the search; the queued fetches have holds of their
// own. over is whether the search has ended, and needs no successor.
func (q *intake) complete(s *search, over bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s.over = over
	if s.count > mostSearched {
		q.log.Warn("messages may have been missed in more channels than are searched", "channels", s.count, "searched", mostSearched)
	}
	for _, t := range s.tickets {
		t.Release()
	}
	s.tickets = nil
}

// lookBack fetches messages that a resumed session should have delivered but did not, which Discord sometimes fails to
// do. It covers the most recently active channels. Almost always it finds nothing, so it holds no ticket.
func (q *intake) lookBack() {
	if q.age <= 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	var ids []string
	for id, c := range q.channels {
		if c.seen > 0 {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(q.channels[b].seen, q.channels[a].seen) })
	floor := idAt(time.Now().Add(-q.age))
	for _, id := range ids[:min(len(ids), mostLookedBack)] {
		c := q.channels[id]
		q.events.Rearrange(id, func(waiting []queued) []queued {
			return append(waiting, q.fill(id, c, max(c.seen, floor), nil))
		})
	}
}
