package telegramfake

import (
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	maxPoll       = 50 * time.Second
	maxBatch      = 100
	conflictDelay = 3 * time.Second
)

// poll is a waiting getUpdates. Its channels are made by the waiting request.
type poll struct {
	wake  chan struct{} // capacity 1
	ended chan struct{} // closed after cause is set
	cause error
}

func (p *poll) signal() {
	select {
	case p.wake <- struct{}{}:
	default: // already signaled
	}
}

// endPoll makes the waiting poll fail.
func (q *queue) endPoll(cause error) {
	if q.poll == nil {
		return
	}
	q.poll.cause = cause
	close(q.poll.ended)
	q.poll = nil
}

// getUpdates is the only method that waits. A newer poll ends an older one (TR-19).
func (s *Server) getUpdates(ctx context.Context, c *call) (any, error) {
	allowed, err := allowedUpdates(c)
	if err != nil {
		return nil, s.reject(c, err)
	}
	limit := maxBatch
	if c.params["limit"] != "" {
		limit = min(max(c.int("limit"), 1), maxBatch)
	}
	timeout := min(max(time.Duration(c.int("timeout"))*time.Second, 0), maxPoll)

	s.mu.Lock()
	if s.webhook.url != "" {
		s.mu.Unlock()
		return nil, s.tellConflict(ctx, conflict("can't use getUpdates method while webhook is active; "+
			"use deleteWebhook to delete the webhook first"))
	}
	if allowed != nil {
		s.queue.allowed = allowed
	}
	s.queue.confirm(int64(c.int("offset")))
	batch := s.queue.take(limit)
	if len(batch) > 0 || timeout == 0 {
		s.mu.Unlock()
		return batch, nil
	}
	s.queue.endPoll(conflict("terminated by other getUpdates request; make sure that only one bot instance is running"))
	p := &poll{wake: make(chan struct{}, 1), ended: make(chan struct{})}
	s.queue.poll = p
	s.mu.Unlock()
	return s.await(ctx, p, limit, timeout)
}

func (s *Server) await(ctx context.Context, p *poll, limit int, timeout time.Duration) (any, error) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		select {
		case <-p.ended:
			return nil, s.tellConflict(ctx, p.cause)
		case <-ctx.Done():
			s.leave(p, 0)
			return nil, fmt.Errorf("request aborted: %w", context.Cause(ctx))
		case <-timer.C:
			return s.leave(p, limit), nil
		case <-p.wake:
			if batch := s.collect(p, limit); len(batch) > 0 {
				return batch, nil
			}
		}
	}
}

// leave ends the wait of p and returns the pending updates.
func (s *Server) leave(p *poll, limit int) []Update {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue.poll == p {
		s.queue.poll = nil
	}
	return s.queue.take(limit)
}

// collect returns the pending updates; without any, p keeps waiting.
func (s *Server) collect(p *poll, limit int) []Update {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch := s.queue.take(limit)
	if len(batch) > 0 && s.queue.poll == p {
		s.queue.poll = nil
	}
	return batch
}

// tellConflict delays a conflict that follows another within three seconds.
func (s *Server) tellConflict(ctx context.Context, cause error) error {
	s.mu.Lock()
	now := time.Now()
	early := now.Before(s.queue.refused)
	if !early {
		s.queue.refused = now.Add(conflictDelay)
	}
	s.mu.Unlock()
	if early {
		_ = sleep(ctx, conflictDelay) // a disconnected client gets no response
	}
	return cause
}

// allowedUpdates reads the parameter; nil leaves the setting as it was, an empty list is the default.
func allowedUpdates(c *call) (map[string]bool, error) {
	value, given := c.params["allowed_updates"]
	if !given {
		return nil, nil
	}
	var names []string
	if err := decode(value, &names); err != nil {
		return nil, fmt.Errorf("allowed_updates: %w", err)
	}
	if len(names) == 0 {
		return defaultUpdates(), nil
	}
	known, out := updateKinds(), map[string]bool{}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		if _, ok := known[name]; !ok {
			return nil, fmt.Errorf("unknown kind of update %q", name)
		}
		out[name] = true
	}
	return out, nil
}
