package sqlite

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"
	"unsafe"

	"parley/core/chat"
)

// cached returns the cache's value of a subject if that is enough, or else the result of read, and caches it. enough may be nil: then
// every value is. The result is shared, and must not be changed.
func cached[V value](ctx context.Context, s *database, of subject, enough func(V) bool, read func(context.Context, *conn) (V, error)) (v V, err error) {
	if v, ok := s.cache.get(of).(V); ok && (enough == nil || enough(v)) {
		return v, s.checkHit(ctx, of, func(ctx context.Context, db *conn) (value, error) { return read(ctx, db) })
	}
	before := s.cache.begin(of)
	err = s.read(ctx, func(db *conn) error {
		v, err = read(ctx, db)
		return err
	})
	if err == nil {
		s.cache.put(of, before, v)
	}
	return v, err
}

// checkHit returns the error that a read would have returned that was not needed. If there is an audit, the read is made, and compared
// with the cache.
func (s *database) checkHit(ctx context.Context, of subject, read func(context.Context, *conn) (value, error)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mu.RLock()
	closed := s.closed
	s.mu.RUnlock()
	if closed {
		return ErrClosed
	}
	if s.audit == nil {
		return nil
	}
	var stored value
	before := s.cache.begin(of)
	has := s.cache.get(of)
	ctx = context.WithoutCancel(ctx) // that it ends meanwhile says nothing about the cache
	err := s.read(ctx, func(db *conn) (err error) {
		stored, err = read(ctx, db)
		return err
	})
	if has != nil && s.cache.current(of, before) && (err != nil || !has.equals(stored)) {
		s.audit(fmt.Errorf("the cache holds something else of %s than the store: %+v, and not %+v (%v)", of, has, stored, err))
	}
	return nil
}

// String returns s for error messages.
func (s subject) String() string { return fmt.Sprintf("%s/%s/%s", s.table, s.id, s.part) }

// cachedRoom, and so on, are the values of the cache besides [history].
type (
	cachedRoom    struct{ chat.Room }
	attention     chat.Attention
	cachedEntity  struct{ chat.Entity }
	openQuestions []chat.Question // those that were open when they were read
	// noteList are the newest notes, at most limit.
	noteList struct {
		limit int
		all   []chat.RoomNote
	}
)

func (r cachedRoom) bytes() int {
	n := int(unsafe.Sizeof(r)) + len(r.ID)*2 + len(r.World) + len(r.Name) + len(r.Address.ConnectorData)
	for _, id := range r.Chats {
		n += int(unsafe.Sizeof(id)) + len(id)
	}
	return n
}

func (attention) bytes() int { return 16 }

func (e cachedEntity) bytes() int {
	n := int(unsafe.Sizeof(e)) + len(e.ID)
	for _, name := range e.Names {
		n += int(unsafe.Sizeof(name)) + len(name)
	}
	for about, text := range e.Details {
		n += 64 + len(about) + len(text)
	}
	return n
}

func (l openQuestions) bytes() int {
	n := 0
	for _, q := range l {
		n += int(unsafe.Sizeof(q)) + len(q.ID) + len(q.Run) + len(q.Room) + len(q.Handler) + len(q.Payload) + 64*len(q.For)
		for _, option := range q.Options {
			n += int(unsafe.Sizeof(option)) + len(option)
		}
	}
	return n
}

// open returns the questions that have not expired meanwhile.
func (l openQuestions) open() []chat.Question {
	now := time.Now()
	return slices.DeleteFunc(slices.Clone(l), func(q chat.Question) bool { return !q.Expires.After(now) })
}

// current reports whether none of the notes has expired meanwhile.
func (l noteList) current() bool {
	now := time.Now()
	return !slices.ContainsFunc(l.all, func(n chat.RoomNote) bool { return !n.Expires.IsZero() && !n.Expires.After(now) })
}

func (l noteList) bytes() int {
	n := int(unsafe.Sizeof(l))
	for _, note := range l.all {
		n += int(unsafe.Sizeof(note)) + len(note.Room) + len(note.Key) + len(note.About) + len(note.Text) + len(note.First) + len(note.Last)
	}
	return n
}

func (r cachedRoom) equals(read value) bool   { return reflect.DeepEqual(r, read) }
func (a attention) equals(read value) bool    { return a == read }
func (e cachedEntity) equals(read value) bool { return reflect.DeepEqual(e, read) }
func (l noteList) equals(read value) bool     { return reflect.DeepEqual(l, read) || !l.current() }
func (l openQuestions) equals(read value) bool {
	o := read.(openQuestions)
	return slices.EqualFunc(l.open(), o.open(), func(a, b chat.Question) bool { return reflect.DeepEqual(a, b) })
}
