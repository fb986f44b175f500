package web

import (
	"sync"
	"time"
)

const (
	seldomPause = time.Hour
	maxSeldom   = 100 // names at a time; further ones are not reported
)

// seldom tells what was reported lately from what was not. Its names come from strangers, so it keeps only a few. Safe for
// concurrent use.
type seldom struct {
	mu    sync.Mutex
	until map[string]time.Time
}

func newSeldom() *seldom { return &seldom{until: map[string]time.Time{}} }

// first reports whether name is to be reported now.
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
