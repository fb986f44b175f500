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

// catchUp delivers the messages for which a full lane had no room.
func (q *intake) catchUp(ctx context.Context, channel string, l *lane, after uint64, owed []*ticket) {
	found, ok := q.missed(ctx, channel, max(after, idAt(time.Now().Add(-overflowAge))), false)
	if !ok && ctx.Err() != nil || !q.deliverAll(ctx, l, found) {
		return
	}
	if len(found) == missedMost { // there is more
		q.mu.Lock()
		defer q.mu.Unlock()
		l.gap, l.owed = true, append(owed, l.owed...)
		return
	}
	for _, t := range owed {
		q.mark.release(t)
	}
}

// fill delivers the messages that h stands for, except those already queued behind it.
func (q *intake) fill(ctx context.Context, l *lane, h gatewayEvent) {
	found, ok := q.missed(ctx, h.channel, h.after, true)
	if !ok && ctx.Err() != nil {
		return
	}
	q.mu.Lock()
	queued := map[string]bool{}
	for _, next := range l.queue {
		queued[next.message] = true
	}
	q.mu.Unlock()
	found = slices.DeleteFunc(found, func(m message) bool { return queued[m.ID] })
	if q.deliverAll(ctx, l, found) {
		q.mark.release(h.ticket)
	}
}

// deliverAll delivers fetched messages; it returns false if one could not be stored.
func (q *intake) deliverAll(ctx context.Context, l *lane, all []message) bool {
	q.mu.Lock()
	guild := l.guild
	q.mu.Unlock()
	for _, m := range all {
		m.Guild = guild
		if m.concerns(q.me) && !q.deliver(ctx, q.written(m)) {
			return false
		}
		q.mu.Lock()
		l.seen = max(l.seen, snowflake(m.ID))
		q.mu.Unlock()
	}
	return true
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
