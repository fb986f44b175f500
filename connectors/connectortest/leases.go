package connectortest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"parley/core/chat"
)

// ErrDown is the error of [Leases] for an owner that is cut off.
var ErrDown = errors.New("the store is down")

// Leases is a [connectors.Leases] in memory, with the clock of package time, and the [connectors.StateStore] of its
// processes. Its zero value is empty. It is safe for concurrent use.
type Leases struct {
	Memory

	mu   sync.Mutex
	all  map[string]*leaseRow
	down map[string]bool
}

// leaseRow is a lease. It stays after its end, as it has the token.
type leaseRow struct {
	owner string
	token int64
	ends  time.Time
}

// Cut separates an owner from the store, or ends that.
func (s *Leases) Cut(owner string, down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down == nil {
		s.down = map[string]bool{}
	}
	s.down[owner] = down
}

// Lease implements [connectors.Leases].
func (s *Leases) Lease(_ context.Context, name, owner string, ttl time.Duration) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down[owner] {
		return 0, ErrDown
	}
	if s.all == nil {
		s.all = map[string]*leaseRow{}
	}
	row := s.all[name]
	if row == nil {
		row = &leaseRow{}
		s.all[name] = row
	}
	alive := time.Now().Before(row.ends)
	switch {
	case alive && row.owner != owner:
		return 0, chat.ErrBusy
	case !alive || row.owner != owner:
		row.token++
	}
	row.owner, row.ends = owner, time.Now().Add(ttl)
	return row.token, nil
}

// EndLease implements [connectors.Leases].
func (s *Leases) EndLease(_ context.Context, name, owner string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down[owner] {
		return ErrDown
	}
	if row := s.all[name]; row != nil && row.owner == owner {
		row.ends = time.Time{}
	}
	return nil
}

// Held implements [connectors.Leases].
func (s *Leases) Held(_ context.Context, name string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := map[string]string{}
	for lease, row := range s.all {
		if (lease == name || strings.HasPrefix(lease, name+"/")) && time.Now().Before(row.ends) {
			held[lease] = row.owner
		}
	}
	return held, nil
}

// KeepUnder implements [connectors.Leases].
func (s *Leases) KeepUnder(ctx context.Context, lease string, token int64, name, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if row := s.all[lease]; row == nil || row.token != token {
		return chat.ErrBusy
	}
	return s.Keep(ctx, name, value)
}
