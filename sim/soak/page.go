package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"time"
)

// openConversations starts the web conversations, once the gateway listens.
func (w *environment) openConversations(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, r := range w.rooms {
		for r.platform == web && r.name == "" {
			id, err := w.browser.Open(ctx)
			if r.name = id; err == nil {
				r.taken = make(chan struct{}, 1)
				continue
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("open a conversation on the web: %w", err)
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	return nil
}

// askOnPage sends a question like the page, and returns when the gateway has it. It keeps following the answer,
// reconnecting as needed.
func (w *environment) askOnPage(q *question) {
	ctx, cancel := context.WithTimeout(context.Background(), w.o.length+w.o.quiet)
	w.work.Go(func() {
		defer cancel()
		w.follow(ctx, q)
	})
	select {
	case <-q.room.taken:
	case <-ctx.Done():
	}
}

func (w *environment) follow(ctx context.Context, q *question) {
	accepted := false
	for tries := 0; ctx.Err() == nil; tries++ {
		wait := time.Duration(float64(min(30*time.Second, 500*time.Millisecond<<min(tries, 10))) * (0.5 + rand.Float64()))
		heard, done, err := w.listen(ctx, q, func() {
			if !accepted {
				accepted = true
				q.room.taken <- struct{}{}
			}
		})
		if heard {
			tries = 0
		}
		if done || err != nil {
			w.mu.Lock()
			q.done, q.ended = true, time.Now()
			if err != nil && ctx.Err() == nil {
				q.broken = err.Error()
			}
			w.mu.Unlock()
			return
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// listen sends the question once and reads the stream. A lost connection is not an error.
func (w *environment) listen(ctx context.Context, q *question, accept func()) (heard, done bool, err error) {
	s, err := w.browser.Send(ctx, q.room.name, q.id, "Please tell me about "+q.id)
	switch {
	case err != nil:
		return false, false, unlessCut(err)
	case s.Status >= 500 || s.Status == http.StatusTooManyRequests:
		return false, false, nil
	case s.Status != http.StatusOK:
		return false, false, fmt.Errorf("the gateway refuses the question: %d %s", s.Status, s.Body)
	}
	defer s.Close()
	accept()
	for {
		e, err := s.Next()
		switch {
		case err != nil && e.Type == "":
			return heard, false, unlessCut(err)
		case err != nil:
			return heard, false, err
		case e.Type == "reconnect":
			return heard, false, nil
		case e.Type == "done":
			w.mu.Lock()
			defer w.mu.Unlock()
			q.read = s.Text()
			return true, true, nil
		}
		heard = true
	}
}

// unlessCut returns nil for the errors that the death of the other process causes.
func unlessCut(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.As(err, new(net.Error)) {
		return nil
	}
	return err
}
