package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

const (
	overflowAge = time.Hour // maximum age of messages fetched for a full lane
	missedMost  = 100       // Discord's page size
	missedTries = 5
)

// gap returns the event that fetches the messages for which c had no room. Until it is delivered, c queues no messages.
// It requires q.mu.
func (q *intake) gap(id string, c *channel) queued {
	c.gap = true
	return queued{Deliver: func(ctx context.Context) error {
		q.mu.Lock()
		c.gap = false // from now on messages are queued again, behind the fetched ones
		after, owed := c.seen, c.owed
		c.owed = nil
		q.mu.Unlock()
		found, ok := q.missed(ctx, id, max(after, idAt(time.Now().Add(-overflowAge))), false)
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

// fill returns the event that fetches the messages of a channel after one.
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

// ahead queues fetched messages, and an event after them, ahead of the waiting events of a channel. Those that are already
// waiting are left out.
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
			m.Guild = c.guild
			c.seen = max(c.seen, snowflake(m.ID))
			if m.concerns(q.me) && !known[m.ID] {
				first = append(first, q.written(m, nil))
			}
		}
		return slices.Concat(first, []queued{end}, waiting)
	})
}

// missed fetches a channel's messages after a given one, oldest first: the latest page, or the first one. ok is false
// on failure.
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
		if wait > overflowAge || !pause(ctx, wait) {
			break
		}
	}
	log.Error("messages sent while disconnected may be lost")
	return nil, false
}

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
