package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"parley/connectors"
)

// moves maps between the ids of groups that became supergroups, which Telegram gives new ids. It is persistent, because
// a room keeps the id of the original group, and with it its history and settings: Telegram announces a move once. It
// is safe for concurrent use.
type moves struct {
	name string // the key in the store
	memo connectors.StateStore

	// saving holds a token while a move is stored, so that no older state replaces a newer one. It is a channel because
	// it can be waited for with a context.
	saving chan struct{}

	// mu guards to, from and seen, and is never held during a request to the store.
	mu   sync.Mutex
	to   map[int64]int64 // nil until loaded
	from map[int64]int64
	seen map[int64]bool // groups with updates, see refresh
}

const mostSeen = 10_000

func newMoves(a account, memo connectors.StateStore) *moves {
	return &moves{name: fmt.Sprintf("%s/%d/moves", Name, a), memo: memo, saving: make(chan struct{}, 1), seen: map[int64]bool{}}
}

// load reads the stored moves once. An error is returned and not remembered: without the moves, messages would create
// second rooms for groups that have one.
func (m *moves) load(ctx context.Context) error {
	m.mu.Lock()
	loaded := m.to != nil
	m.mu.Unlock()
	if loaded {
		return nil
	}
	return m.read(ctx)
}

// stored returns the stored moves, also as they are stored.
func (m *moves) stored(ctx context.Context) (text string, kept map[int64]int64, err error) {
	kept = map[int64]int64{}
	text, err = m.memo.Kept(ctx, m.name)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &kept)
	}
	if err != nil {
		return "", nil, fmt.Errorf("read which groups got new ids: %w", err)
	}
	return text, kept, nil
}

// read adds the stored moves.
func (m *moves) read(ctx context.Context) error {
	_, kept, err := m.stored(ctx)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.make()
	for old, now := range kept {
		m.put(old, now)
	}
	return nil
}

// refresh reads the moves again if chat is a group that is new to this process: another process may have recorded that
// it is the new id of a known one. Telegram announces the move in the group before all other messages there.
func (m *moves) refresh(ctx context.Context, chat int64) error {
	m.mu.Lock()
	known := chat >= 0 || m.seen[chat]
	m.mu.Unlock()
	if known {
		return nil
	}
	if err := m.read(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.seen) >= mostSeen {
		clear(m.seen)
	}
	m.seen[chat] = true
	return nil
}

// keep adds a move to the stored ones. Without Swap, this process is the only one that writes.
func (m *moves) keep(ctx context.Context, old, now int64) error {
	shared, several := m.memo.(connectors.SharedState)
	for {
		text, kept, err := m.stored(ctx)
		if err != nil {
			return err
		}
		kept[old] = now
		next, err := json.Marshal(kept)
		if err != nil {
			return fmt.Errorf("encode which groups got new ids: %w", err)
		}
		if !several {
			return m.memo.Keep(ctx, m.name, string(next))
		}
		if swapped, err := shared.Swap(ctx, m.name, text, string(next)); swapped || err != nil {
			return err
		}
	}
}

// make and put require the lock.
func (m *moves) make() {
	if m.to == nil {
		m.to, m.from = map[int64]int64{}, map[int64]int64{}
	}
}

func (m *moves) put(old, now int64) {
	m.make()
	m.to[old], m.from[now] = now, old
}

// add records a move and stores it. If storing fails, the caller gets the error and calls again. Until then this
// process maps the new id to its room, but treats the move as not recorded, so that the next call stores it.
func (m *moves) add(ctx context.Context, old, now int64) error {
	if old == now || old == 0 || now == 0 {
		return nil
	}
	if err := m.load(ctx); err != nil {
		return err
	}
	select {
	case m.saving <- struct{}{}:
		defer func() { <-m.saving }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	m.mu.Lock()
	// Both halves of the announcement (in the old and in the new group) arrive, and it may be delivered again.
	known := m.to[old] == now
	m.put(old, now)
	m.mu.Unlock()
	if known {
		return nil
	}
	if err := m.keep(ctx, old, now); err != nil {
		m.mu.Lock()
		// Removed, so that the next call does not take it for stored.
		delete(m.to, old)
		m.mu.Unlock()
		return fmt.Errorf("save that group %d got the id %d: %w", old, now, err)
	}
	return nil
}

// now returns the chat's current id, the one for requests.
func (m *moves) now(chat int64) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if to, ok := m.to[chat]; ok {
		return to
	}
	return chat
}

// first returns the id that the chat's room was created with.
func (m *moves) first(chat int64) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if from, ok := m.from[chat]; ok {
		return from
	}
	return chat
}
