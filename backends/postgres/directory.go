package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"parley/backends/record"
	"parley/core/chat"
)

// Entity implements [storage.Directory].
func (s *directory) Entity(ctx context.Context, id chat.EntityID) (e chat.Entity, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error { e, err = findEntity(ctx, q, id); return err })
	return e, wrap(err, "reading the entity %q", id)
}

func findEntity(ctx context.Context, q querier, id chat.EntityID) (chat.Entity, error) {
	return record.ScanEntity(q.QueryRow(ctx, `SELECT id, connector, names, bot, details FROM entities WHERE id = $1`, id))
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
	news, err := s.save(ctx, scopeOf("entity", e.ID), func(ctx context.Context, q querier) (chat.News, string, []any, error) {
		old, err := findEntity(ctx, q, e.ID)
		known := err == nil
		names := old.Names
		for _, name := range e.Names {
			names = chat.Renamed(names, name)
		}
		details := chat.Detailed(old.Details, e.Details)
		changed := !maps.Equal(details, old.Details) || len(names) != len(old.Names) || len(names) > 0 && names[len(names)-1] != old.Names[len(names)-1] ||
			e.Bot != old.Bot || e.Connector != old.Connector
		return chat.NewsOf(known, false, false, changed),
			`INSERT INTO entities (id, connector, names, bot, details, met) VALUES ($1, $2, $3, $4, $5, $6)
				ON CONFLICT (id) DO UPDATE SET connector = excluded.connector, names = excluded.names, bot = excluded.bot, details = excluded.details, met = excluded.met`,
			[]any{e.ID, e.Connector, record.List(names), e.Bot, record.JSON(details), s.clock.nanos()}, err
	})
	return news, wrap(err, "saving the entity %q", e.ID)
}

// World implements [storage.Directory].
func (s *directory) World(ctx context.Context, id chat.WorldID) (w chat.World, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error { w, err = findWorld(ctx, q, id); return err })
	return w, wrap(err, "reading the world %q", id)
}

func findWorld(ctx context.Context, q querier, id chat.WorldID) (chat.World, error) {
	return record.ScanWorld(q.QueryRow(ctx, `SELECT id, connector, name, gone FROM worlds WHERE id = $1`, id))
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
	news, err := s.save(ctx, scopeOf("world", w.ID), func(ctx context.Context, q querier) (chat.News, string, []any, error) {
		old, err := findWorld(ctx, q, w.ID)
		name := w.Name
		if name == "" {
			name = old.Name
		}
		return chat.NewsOf(err == nil, old.Gone, w.Gone, name != old.Name || w.Connector != old.Connector),
			`INSERT INTO worlds (id, connector, name, gone) VALUES ($1, $2, $3, $4)
				ON CONFLICT (id) DO UPDATE SET connector = excluded.connector, name = excluded.name, gone = excluded.gone`, []any{w.ID, w.Connector, name, w.Gone}, err
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
	news, err := s.save(ctx, scopeOf("member", string(m.World)+"\x00"+string(m.Entity)), func(ctx context.Context, q querier) (chat.News, string, []any, error) {
		old, err := record.ScanMember(q.QueryRow(ctx, selectMember+`WHERE world = $1 AND entity = $2`, m.World, m.Entity))
		role := m.Role
		if role == "" {
			role = old.Role
		}
		return chat.NewsOf(err == nil, old.Gone, m.Gone, role != old.Role),
			`INSERT INTO members (world, entity, role, gone) VALUES ($1, $2, $3, $4)
				ON CONFLICT (world, entity) DO UPDATE SET role = excluded.role, gone = excluded.gone`, []any{m.World, m.Entity, role, m.Gone}, record.Found(err)
	})
	return news, wrap(err, "saving the member %q of %q", m.Entity, m.World)
}

const selectMember = `SELECT world, entity, role, gone FROM members `

// Members implements [storage.Directory].
func (s *directory) Members(ctx context.Context, world chat.WorldID, after chat.EntityID, limit int) (all []chat.Member, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		rows, err := q.Query(ctx, selectMember+`WHERE world = $1 AND entity > $2 ORDER BY entity LIMIT $3`, world, after, max(limit, 0))
		all, err = collect(rows, err, record.ScanMember)
		return err
	})
	return all, wrap(err, "reading the members of %q", world)
}

// RoomsOf implements [storage.Directory].
func (s *directory) RoomsOf(ctx context.Context, world chat.WorldID) (all []chat.RoomID, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		rows, err := q.Query(ctx, `SELECT id FROM rooms WHERE world = $1 AND world <> '' ORDER BY id`, world)
		all, err = collect(rows, err, func(r record.Row) (id chat.RoomID, err error) { return id, r.Scan(&id) })
		return err
	})
	return all, wrap(err, "reading the rooms of %q", world)
}

// compare looks up the stored state and returns the kind of change, and the statement that stores the new state. The
// error [chat.ErrNotFound] means that nothing is stored yet.
type compare func(context.Context, querier) (news chat.News, statement string, args []any, err error)

// save stores the change that c reports, with the locks of on. It looks without a transaction first, because directory
// entries are saved with every message and rarely change: an unchanged entry costs none.
func (s *directory) save(ctx context.Context, on scope, c compare) (news chat.News, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		news, _, _, err = c(ctx, q)
		return record.UnlessMissing(err)
	})
	if err != nil || news == chat.Nothing {
		return news, err
	}
	err = s.write(ctx, on, func(ctx context.Context, q querier) error { // compared again: another write can have come in between
		var statement string
		var args []any
		if news, statement, args, err = c(ctx, q); record.UnlessMissing(err) != nil || news == chat.Nothing {
			return record.UnlessMissing(err)
		}
		if _, err := q.Exec(ctx, statement, args...); err != nil {
			return fmt.Errorf("write: %w", err)
		}
		return nil
	})
	return news, err
}
