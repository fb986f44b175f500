package storagetest

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"parley/core/chat"
)

// directoryModel is the simplest [storage.Directory].
type directoryModel struct {
	people  map[chat.EntityID]chat.Entity
	worlds  map[chat.WorldID]chat.World
	members map[member]chat.Member
	met     map[chat.EntityID]time.Time
}

type member struct {
	world  chat.WorldID
	entity chat.EntityID
}

func newDirectoryModel() directoryModel {
	return directoryModel{map[chat.EntityID]chat.Entity{}, map[chat.WorldID]chat.World{}, map[member]chat.Member{}, map[chat.EntityID]time.Time{}}
}

func (d directoryModel) Entity(_ context.Context, id chat.EntityID) (chat.Entity, error) {
	e, ok := d.people[id]
	if !ok {
		return e, chat.ErrNotFound
	}
	return e, nil
}

func (d directoryModel) SaveEntity(_ context.Context, e chat.Entity) (chat.News, error) {
	old, known := d.people[e.ID]
	names := old.Names
	for _, text := range e.Details {
		if !utf8.ValidString(text) {
			return chat.Nothing, errors.New("it could not be read back")
		}
	}
	for _, n := range e.Names {
		if !utf8.ValidString(n) {
			return chat.Nothing, errors.New("it could not be read back")
		}
		names = chat.Renamed(names, n)
	}
	e.Names, e.Details = names, chat.Detailed(old.Details, e.Details)
	changed := !slices.Equal(names, old.Names) || !maps.Equal(e.Details, old.Details) || e.Bot != old.Bot || e.Connector != old.Connector
	if !known || changed {
		d.met[e.ID] = time.Now()
	}
	d.people[e.ID] = e
	return chat.NewsOf(known, false, false, changed), nil
}

// strip takes the names and details from a person.
func (d directoryModel) strip(id chat.EntityID) {
	if e, ok := d.people[id]; ok {
		e.Names, e.Details = nil, nil
		d.people[id] = e
	}
}

func (d directoryModel) World(_ context.Context, id chat.WorldID) (chat.World, error) {
	w, ok := d.worlds[id]
	if !ok {
		return w, chat.ErrNotFound
	}
	return w, nil
}

func (d directoryModel) SaveWorld(_ context.Context, w chat.World) (chat.News, error) {
	old, known := d.worlds[w.ID]
	w.Name = cmp.Or(w.Name, old.Name)
	news := chat.NewsOf(known, old.Gone, w.Gone, w.Name != old.Name || w.Connector != old.Connector)
	if news != chat.Nothing {
		d.worlds[w.ID] = w
	}
	return news, nil
}

func (d directoryModel) SaveMember(_ context.Context, m chat.Member) (chat.News, error) {
	if m.World == "" || m.Entity == "" {
		return chat.Nothing, chat.ErrNotFound
	}
	old, known := d.members[member{m.World, m.Entity}]
	m.Role = cmp.Or(m.Role, old.Role)
	news := chat.NewsOf(known, old.Gone, m.Gone, m.Role != old.Role)
	if news != chat.Nothing {
		d.members[member{m.World, m.Entity}] = m
	}
	return news, nil
}

func (d directoryModel) Members(_ context.Context, w chat.WorldID, after chat.EntityID, limit int) (all []chat.Member, _ error) {
	for _, m := range d.members {
		if m.World == w && m.Entity > after {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b chat.Member) int { return cmp.Compare(a.Entity, b.Entity) })
	return all[:min(limit, len(all))], nil
}

// RoomsOf implements [storage.Directory].
func (s *storeModel) RoomsOf(_ context.Context, w chat.WorldID) (all []chat.RoomID, _ error) {
	for id := range maps.Keys(s.rooms) {
		if w != "" && s.rooms[id].World == w {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all, nil
}
