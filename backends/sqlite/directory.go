package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"parley/backends/record"
	"parley/core/chat"
)

// Entity implements [storage.Directory].
func (s *directory) Entity(ctx context.Context, id chat.EntityID) (chat.Entity, error) {
	e, err := s.entity(ctx, id)
	return e, wrap(err, "reading the entity %q", id)
}

func (s *directory) entity(ctx context.Context, id chat.EntityID) (chat.Entity, error) {
	e, err := cached(ctx, s.database, subject{cachedEntities, string(id), ""}, nil, func(ctx context.Context, db *conn) (cachedEntity, error) {
		e, err := findEntity(ctx, db, id)
		return cachedEntity{e}, err
	})
	return e.Entity, err
}

func findEntity(ctx context.Context, q *conn, id chat.EntityID) (e chat.Entity, err error) {
	err = q.QueryRowContext(ctx, `SELECT id, connector, names, bot, details FROM entities WHERE id = ?`, id).
		Scan(&e.ID, &e.Connector, record.JSONInto(&e.Names), &e.Bot, record.JSONInto(&e.Details))
	return e, record.Found(err)
}

// SaveEntity implements [storage.Directory].
func (s *directory) SaveEntity(ctx context.Context, e chat.Entity) (chat.News, error) {
	err := record.CheckText(append([]string{string(e.ID), e.Connector}, e.Names...)...)
	for about, text := range e.Details {
		err = errors.Join(err, record.CheckText(about, text))
	}
	if err == nil && e.ID == "" {
		err = errors.New("an entity needs an id")
	}
	if err != nil {
		return chat.Nothing, wrap(err, "saving the entity %q", e.ID)
	}
	// Nearly always the entity is known as it is.
	if old, err := s.entity(ctx, e.ID); err == nil {
		if _, changed := mergeEntity(old, e); !changed {
			return chat.Nothing, nil
		}
	}
	news, err := save(ctx, s.database, func(ctx context.Context, q *conn) (chat.News, string, []any, error) {
		old, err := findEntity(ctx, q, e.ID)
		now, changed := mergeEntity(old, e)
		return chat.NewsOf(err == nil, false, false, changed),
			`REPLACE INTO entities (id, connector, names, bot, details, met) VALUES (?, ?, ?, ?, ?, ?)`,
			[]any{e.ID, e.Connector, record.List(now.Names), e.Bot, record.JSON(now.Details), record.Nanos(time.Now())}, err
	})
	return news, wrap(err, "saving the entity %q", e.ID)
}

// mergeEntity merges e into the stored entity, and reports whether that changed it.
func mergeEntity(old, e chat.Entity) (now chat.Entity, changed bool) {
	now = e
	now.Names = old.Names
	for _, name := range e.Names {
		now.Names = chat.Renamed(now.Names, name)
	}
	now.Details = chat.Detailed(old.Details, e.Details)
	changed = !maps.Equal(now.Details, old.Details) || !slices.Equal(now.Names, old.Names) || e.Bot != old.Bot || e.Connector != old.Connector
	return now, changed
}

// World implements [storage.Directory].
func (s *directory) World(ctx context.Context, id chat.WorldID) (w chat.World, err error) {
	err = s.read(ctx, func(db *conn) error { w, err = findWorld(ctx, db, id); return err })
	return w, wrap(err, "reading the world %q", id)
}

func findWorld(ctx context.Context, q *conn, id chat.WorldID) (w chat.World, err error) {
	err = q.QueryRowContext(ctx, `SELECT id, connector, name, gone FROM worlds WHERE id = ?`, id).
		Scan(&w.ID, &w.Connector, &w.Name, &w.Gone)
	return w, record.Found(err)
}

// SaveWorld implements [storage.Directory].
func (s *directory) SaveWorld(ctx context.Context, w chat.World) (chat.News, error) {
	err := record.CheckText(string(w.ID), w.Connector, w.Name)
	if err == nil && w.ID == "" {
		err = errors.New("a world needs an id")
	}
	if err != nil {
		return chat.Nothing, wrap(err, "saving the world %q", w.ID)
	}
	news, err := save(ctx, s.database, func(ctx context.Context, q *conn) (chat.News, string, []any, error) {
		old, err := findWorld(ctx, q, w.ID)
		name := w.Name
		if name == "" {
			name = old.Name
		}
		return chat.NewsOf(err == nil, old.Gone, w.Gone, name != old.Name || w.Connector != old.Connector),
			`REPLACE INTO worlds (id, connector, name, gone) VALUES (?, ?, ?, ?)`, []any{w.ID, w.Connector, name, w.Gone}, err
	})
	return news, wrap(err, "saving the world %q", w.ID)
}

// SaveMember implements [storage.Directory].
func (s *directory) SaveMember(ctx context.Context, m chat.Member) (chat.News, error) {
	err := record.CheckText(string(m.World), string(m.Entity), m.Role)
	if err == nil && (m.World == "" || m.Entity == "") {
		err = errors.New("a member needs a world and an entity")
	}
	if err != nil {
		return chat.Nothing, wrap(err, "saving the member %q of %q", m.Entity, m.World)
	}
	news, err := save(ctx, s.database, func(ctx context.Context, q *conn) (chat.News, string, []any, error) {
		old, err := record.ScanMember(q.QueryRowContext(ctx, selectMember+`WHERE world = ? AND entity = ?`, m.World, m.Entity))
		role := m.Role
		if role == "" {
			role = old.Role
		}
		return chat.NewsOf(err == nil, old.Gone, m.Gone, role != old.Role),
			`REPLACE INTO members (world, entity, role, gone) VALUES (?, ?, ?, ?)`, []any{m.World, m.Entity, role, m.Gone}, record.Found(err)
	})
	return news, wrap(err, "saving the member %q of %q", m.Entity, m.World)
}

const selectMember = `SELECT world, entity, role, gone FROM members `

// Members implements [storage.Directory].
func (s *directory) Members(ctx context.Context, world chat.WorldID, after chat.EntityID, limit int) (all []chat.Member, err error) {
	err = s.read(ctx, func(db *conn) error {
		rows, err := db.QueryContext(ctx, selectMember+`WHERE world = ? AND entity > ? ORDER BY entity LIMIT ?`, world, after, max(limit, 0))
		if err == nil {
			all, err = collect(rows, record.ScanMember)
		}
		return err
	})
	return all, wrap(err, "reading the members of %q", world)
}

// RoomsOf implements [storage.Directory].
func (s *directory) RoomsOf(ctx context.Context, world chat.WorldID) (all []chat.RoomID, err error) {
	err = s.read(ctx, func(db *conn) error {
		rows, err := db.QueryContext(ctx, `SELECT id FROM rooms WHERE world = ? AND world <> '' ORDER BY id`, world)
		if err == nil {
			all, err = collect(rows, func(r record.Row) (id chat.RoomID, err error) { return id, r.Scan(&id) })
		}
		return err
	})
	return all, wrap(err, "reading the rooms of %q", world)
}

// compare looks up the stored state and returns the kind of change, and the statement that stores the new state. The
// error [chat.ErrNotFound] means that nothing is stored yet.
type compare func(context.Context, *conn) (news chat.News, statement string, args []any, err error)

// save stores the change that c reports. It looks with a read connection first, because directory entries are saved
// with every message and rarely change: an unchanged entry costs no transaction.
func save(ctx context.Context, s *database, c compare) (news chat.News, err error) {
	err = s.read(ctx, func(db *conn) error {
		news, _, _, err = c(ctx, db)
		return record.UnlessMissing(err)
	})
	if err != nil || news == chat.Nothing {
		return news, err
	}
	err = s.write(ctx, func(ctx context.Context, tx *conn) error { // compared again: another write can have come in between
		var statement string
		var args []any
		if news, statement, args, err = c(ctx, tx); record.UnlessMissing(err) != nil || news == chat.Nothing {
			return record.UnlessMissing(err)
		}
		if news != chat.Came { // it replaces earlier values, such as a detail that a person has deleted
			s.deleted.Store(true)
		}
		if _, err := tx.ExecContext(ctx, statement, args...); err != nil {
			return fmt.Errorf("write: %w", err)
		}
		return nil
	})
	return news, err
}
