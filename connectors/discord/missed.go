package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"parley/internal/rest"
	"slices"
	"time"
)

const (
	// overflowAge is the maximum age of messages that are fetched for a full queue. It is also the longest rate limit
	// that is waited for.
	overflowAge = time.Hour // maximum age of messages fetched for a full lane
	// missedMost is the largest page that Discord returns.
	missedMost  = 100
	missedTries = 5
)

// gap returns the event that fetches the messages that c had no room for. It is put at the end of the queue, so it is
// delivered after those that had room. Until then, c queues no messages. It requires q.mu.
//
// If there is more than a page, another gap follows the found messages, and keeps the owed tickets. Otherwise an event
// after them releases the tickets: all their messages are stored then.
func (q *intake) gap(id string, c *channel) queued {
	c.gap = true
	return queued{Deliver: func(ctx context.Context) error {
		q.mu.Lock()
		// From here on new messages are queued again. They can't overtake: ahead puts the fetched ones before them.
		c.gap = false
		after, owed := c.seen, c.owed
		c.owed = nil
		q.mu.Unlock()
		found, ok := q.missed(ctx, id, max(after, idAt(time.Now().Add(-overflowAge))), false)
		// The process shuts down. The owed tickets are never released, so the next process gets these messages again.
		if !ok && ctx.Err() != nil {
			return ctx.Err()
		}
		q.ahead(id, c, found, func() (last queued) {
			if len(found) == missedMost { // there is more
				c.owed = append(owed, c.owed...)
				return q.gap(id, c)
			}
			return queued{Deliver: func(context.Context) error {
				for _, t := range owed {
					t.Release()
				}
				return nil
			}}
		})
		return nil
	}}
}

// fill returns the event that fetches the latest messages of a channel after one, for a channel that may have missed
// some while there was no session. t is held until they are stored, and can be nil. Unlike a gap, it fetches only one
// page: older messages are hardly worth an answer.
func (q *intake) fill(id string, c *channel, after uint64, t *ticket) queued {
	return queued{Ticket: t.Hold(), Deliver: func(ctx context.Context) error {
		found, ok := q.missed(ctx, id, after, true)
		if !ok && ctx.Err() != nil {
			return ctx.Err()
		}
		q.ahead(id, c, found, func() queued {
			return queued{Ticket: t.Hold(), Deliver: func(context.Context) error { return nil }}
		})
		return nil
	}}
}

// ahead queues fetched messages, and an event after them, ahead of the waiting events of a channel. Those that are
// already waiting are left out. last is called with q.mu, which ahead takes: its changes must be seen together with the
// new queue.
func (q *intake) ahead(id string, c *channel, found []message, last func() queued) {
	q.mu.Lock()
	defer q.mu.Unlock()
	end := last()
	q.events.Rearrange(id, func(waiting []queued) []queued {
		known := map[string]bool{}
		for _, e := range waiting {
			known[e.ID] = true
		}
		var first []queued
		for _, m := range found {
			// Fetched messages don't name their server.
			m.Guild = c.guild
			c.seen = max(c.seen, snowflake(m.ID))
			if m.concerns(q.me) && !known[m.ID] {
				first = append(first, q.written(m, nil))
			}
		}
		return slices.Concat(first, []queued{end}, waiting)
	})
}

// missed fetches a channel's messages after a given one, oldest first: the latest page if latest is set, and otherwise
// the first one. It tries again after failures and short rate limits, at most missedTries times. ok is false if it
// gives up, which it logs; a channel that the bot can't read any more is not worth an error.
//
// The number of requests at a time is limited, so that a bot that returns to many channels has budget left for answers.
func (q *intake) missed(ctx context.Context, channel string, after uint64, latest bool) ([]message, bool) {
	select {
	case q.fetches <- struct{}{}:
		defer func() { <-q.fetches }()
	case <-ctx.Done():
		return nil, false
	}
	log := q.log.With("channel", channel)
	for try := range missedTries {
		found, err := q.fetch(ctx, channel, after, latest)
		var h held
		wait := leastRetry << try
		switch {
		case err == nil:
			if latest && len(found) == missedMost {
				log.Warn("more messages were missed than can be fetched")
			}
			return found, true
		case errors.As(err, new(*refusal)), errors.Is(err, errRevoked):
			log.Info("missed messages can't be fetched", "err", err)
			return nil, false
		case errors.As(err, &h):
			wait = h.after
		}
		if wait > overflowAge || rest.For(ctx, wait) != nil {
			break
		}
	}
	log.Error("messages sent while disconnected may be lost")
	return nil, false
}

// fetch makes the request of missed. Messages that can't be read are logged and left out. With the latest page, the
// request names no start, so older messages are removed here.
func (q *intake) fetch(ctx context.Context, channel string, after uint64, latest bool) ([]message, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	var raw []json.RawMessage
	path := fmt.Sprintf("channels/%s/messages?limit=%d", channel, missedMost)
	if !latest {
		path += fmt.Sprintf("&after=%d", after)
	}
	if err := q.client.do(ctx, http.MethodGet, path, nil, &raw); err != nil {
		return nil, err
	}
	var found []message
	for _, r := range raw {
		m, err := parseMessage(r)
		if err != nil {
			q.log.Warn("a message can't be read", "channel", channel, "err", err)
			continue
		}
		if snowflake(m.ID) > after {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b message) int { return cmp.Compare(snowflake(a.ID), snowflake(b.ID)) })
	return found, nil
}
