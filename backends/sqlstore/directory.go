package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"parley/backends/record"
	"parley/core/chat"
)

// SelectEntity selects the columns that [record.ScanEntity] reads of one entity.
const SelectEntity = `SELECT id, connector, names, bot, details FROM entities WHERE id = $1`

// Entity implements [storage.Directory].
func (s *directory) Entity(ctx context.Context, id chat.EntityID) (e chat.Entity, err error) {
	e, err = one(ctx, s.Shared, record.ScanEntity, SelectEntity, id)
	return e, s.wrap(err, "reading the entity %q", id)
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
		return chat.Nothing, s.wrap(err, "saving the entity %q", e.ID)
	}
	news, err := s.save(ctx, change(s.Shared, "entity", e.ID), func(ctx context.Context, c Conn) (chat.News, string, []any, error) {
		old, err := record.ScanEntity(c.QueryRow(ctx, SelectEntity, e.ID))
		now, changed := MergeEntity(old, e)
		return chat.NewsOf(err == nil, false, false, changed),
			`INSERT INTO entities (id, connector, names, bot, details, met) VALUES ($1, $2, $3, $4, $5, $6)
				ON CONFLICT (id) DO UPDATE SET connector = excluded.connector, names = excluded.names, bot = excluded.bot, details = excluded.details, met = excluded.met`,
			[]any{e.ID, e.Connector, record.List(now.Names), e.Bot, record.JSON(now.Details), s.Present()}, err
	})
	return news, s.wrap(err, "saving the entity %q", e.ID)
}

// MergeEntity merges e into the stored entity, and reports whether that changed it.
func MergeEntity(old, e chat.Entity) (now chat.Entity, changed bool) {
	now = e
	now.Names = old.Names
	for _, name := range e.Names {
		now.Names = chat.Renamed(now.Names, name)
	}
	now.Details = chat.Detailed(old.Details, e.Details)
	changed = !maps.Equal(now.Details, old.Details) || !slices.Equal(now.Names, old.Names) || e.Bot != old.Bot || e.Connector != old.Connector
	return now, changed
}

const selectWorld = `SELECT id, connector, name, gone FROM worlds WHERE id = $1`

// World implements [storage.Directory].
func (s *directory) World(ctx context.Context, id chat.WorldID) (w chat.World, err error) {
	w, err = one(ctx, s.Shared, record.ScanWorld, selectWorld, id)
	return w, s.wrap(err, "reading the world %q", id)
}

// SaveWorld implements [storage.Directory].
func (s *directory) SaveWorld(ctx context.Context, w chat.World) (chat.News, error) {
	err := record.CheckText(string(w.ID), w.Connector, w.Name)
	if err == nil && w.ID == "" {
		err = errors.New("a world needs an id")
	}
	if err != nil {
		return chat.Nothing, s.wrap(err, "saving the world %q", w.ID)
	}
	news, err := s.save(ctx, change(s.Shared, "world", w.ID), func(ctx context.Context, c Conn) (chat.News, string, []any, error) {
		old, err := record.ScanWorld(c.QueryRow(ctx, selectWorld, w.ID))
		name := w.Name
		if name == "" {
			name = old.Name
		}
		return chat.NewsOf(err == nil, old.Gone, w.Gone, name != old.Name || w.Connector != old.Connector),
			`INSERT INTO worlds (id, connector, name, gone) VALUES ($1, $2, $3, $4)
				ON CONFLICT (id) DO UPDATE SET connector = excluded.connector, name = excluded.name, gone = excluded.gone`, []any{w.ID, w.Connector, name, w.Gone}, err
	})
	return news, s.wrap(err, "saving the world %q", w.ID)
}

// SaveMember implements [storage.Directory].
func (s *directory) SaveMember(ctx context.Context, m chat.Member) (chat.News, error) {
	err := record.CheckText(string(m.World), string(m.Entity), m.Role)
	if err == nil && (m.World == "" || m.Entity == "") {
		err = errors.New("a member needs a world and an entity")
	}
	if err != nil {
		return chat.Nothing, s.wrap(err, "saving the member %q of %q", m.Entity, m.World)
	}
	news, err := s.save(ctx, change(s.Shared, "member", string(m.World)+"\x00"+string(m.Entity)), func(ctx context.Context, c Conn) (chat.News, string, []any, error) {
		old, err := record.ScanMember(c.QueryRow(ctx, selectMember+`WHERE world = $1 AND entity = $2`, m.World, m.Entity))
		role := m.Role
		if role == "" {
			role = old.Role
		}
		return chat.NewsOf(err == nil, old.Gone, m.Gone, role != old.Role),
			`INSERT INTO members (world, entity, role, gone) VALUES ($1, $2, $3, $4)
				ON CONFLICT (world, entity) DO UPDATE SET role = excluded.role, gone = excluded.gone`, []any{m.World, m.Entity, role, m.Gone}, record.Found(err)
	})
	return news, s.wrap(err, "saving the member %q of %q", m.Entity, m.World)
}

const selectMember = `SELECT world, entity, role, gone FROM members `

// Members implements [storage.Directory].
func (s *directory) Members(ctx context.Context, world chat.WorldID, after chat.EntityID, limit int) (all []chat.Member, err error) {
	all, err = list(ctx, s.Shared, record.ScanMember, selectMember+`WHERE world = $1 AND entity > $2 ORDER BY entity LIMIT $3`, world, after, max(limit, 0))
	return all, s.wrap(err, "reading the members of %q", world)
}

// RoomsOf implements [storage.Directory].
func (s *directory) RoomsOf(ctx context.Context, world chat.WorldID) (all []chat.RoomID, err error) {
	all, err = list(ctx, s.Shared, scan[chat.RoomID], `SELECT id FROM rooms WHERE world = $1 AND world <> '' ORDER BY id`, world)
	return all, s.wrap(err, "reading the rooms of %q", world)
}

// compare looks up the stored state and returns the kind of change, and the statement that stores the new state. The
// error [chat.ErrNotFound] means that nothing is stored yet.
type compare func(context.Context, Conn) (news chat.News, statement string, args []any, err error)

// save stores the change that look reports, in a transaction as on describes it. It looks without a transaction first, because directory
// entries are saved with every message and rarely change: an unchanged entry costs none.
func (s *directory) save(ctx context.Context, on Change, look compare) (news chat.News, err error) {
	err = s.Read(ctx, func(ctx context.Context, c Conn) error {
		news, _, _, err = look(ctx, c)
		return record.UnlessMissing(err)
	})
	if err != nil || news == chat.Nothing {
		return news, err
	}
	err = s.Write(ctx, on, func(ctx context.Context, tx Conn) error { // compared again: another write can have come in between
		var statement string
		var args []any
		if news, statement, args, err = look(ctx, tx); record.UnlessMissing(err) != nil || news == chat.Nothing {
			return record.UnlessMissing(err)
		}
		if news != chat.Came { // it replaces earlier values, such as a detail that a person has deleted
			s.Erasing()
		}
		if _, err := tx.Exec(ctx, statement, args...); err != nil {
			return fmt.Errorf("write: %w", err)
		}
		return nil
	})
	return news, err
}
