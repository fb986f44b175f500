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
	missedAge   = 10 * time.Minute // what is older is not answered any more
	missedMost  = 100              // a page of Discord's
	missedTries = 5
)

// missed fetches what was written in a channel after a message, oldest first.
func (q *intake) missed(ctx context.Context, channel string, after uint64) []message {
	select {
	case q.fetches <- struct{}{}:
		defer func() { <-q.fetches }()
	case <-ctx.Done():
		return nil
	}
	log := q.log.With("channel", channel)
	for try := range missedTries {
		found, err := q.fetch(ctx, channel, max(after, idAt(time.Now().Add(-missedAge))))
		var h held
		wait := leastRetry << try
		switch {
		case err == nil:
			if len(found) == missedMost {
				log.Warn("more messages were missed than are fetched")
			}
			return found
		case errors.As(err, new(*refusal)), errors.Is(err, errRevoked):
			log.Info("missed messages can't be fetched", "err", err)
			return nil
		case errors.As(err, &h):
			wait = h.after
		}
		if wait > missedAge || !pause(ctx, wait) {
			break
		}
	}
	log.Error("messages that were written while there was no connection may be lost")
	return nil
}

func (q *intake) fetch(ctx context.Context, channel string, after uint64) ([]message, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	var raw []json.RawMessage
	path := fmt.Sprintf("channels/%s/messages?limit=%d&after=%d", channel, missedMost, after)
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
		found = append(found, m)
	}
	slices.SortFunc(found, func(a, b message) int { return cmp.Compare(snowflake(a.ID), snowflake(b.ID)) })
	return found, nil
}
