package web

import (
	"sync"
	"time"
)

const (
	seldomPause = time.Hour
	maxSeldom   = 100 // remembered names; further ones are not reported
)

// seldom limits how often a name is reported. The names come from strangers, so it remembers only a few. Safe for
// concurrent use.
type seldom struct {
	mu    sync.Mutex
	until map[string]time.Time
}

func newSeldom() *seldom { return &seldom{until: map[string]time.Time{}} }

// first reports whether name is due to be reported.
func (s *seldom) first(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for n, until := range s.until {
		if !now.Before(until) {
			delete(s.until, n)
		}
	}
	if _, known := s.until[name]; known || len(s.until) >= maxSeldom {
		return false
	}
	s.until[name] = now.Add(seldomPause)
	return true
}
