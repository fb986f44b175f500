package coretest

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"parley/core"
)

// directoryModel is the simplest [core.Directory].
type directoryModel struct {
	people  map[core.EntityID]core.Entity
	worlds  map[core.WorldID]core.World
	members map[member]core.Member
	met     map[core.EntityID]time.Time
	guard   *sync.Mutex
}

type member struct {
	world  core.WorldID
	entity core.EntityID
}

func newDirectoryModel() directoryModel {
	return directoryModel{map[core.EntityID]core.Entity{}, map[core.WorldID]core.World{}, map[member]core.Member{}, map[core.EntityID]time.Time{}, &sync.Mutex{}}
}

func (d directoryModel) Entity(_ context.Context, id core.EntityID) (core.Entity, error) {
	d.guard.Lock()
	defer d.guard.Unlock()
	e, ok := d.people[id]
	if !ok {
		return e, core.ErrNotFound
	}
	return e, nil
}

func (d directoryModel) Meet(_ context.Context, e core.Entity) (core.News, error) {
	d.guard.Lock()
	defer d.guard.Unlock()
	old, known := d.people[e.ID]
	names := old.Names
	for _, text := range e.Details {
		if !utf8.ValidString(text) {
			return core.Nothing, errors.New("it could not be read back")
		}
	}
	for _, n := range e.Names {
		if !utf8.ValidString(n) {
			return core.Nothing, errors.New("it could not be read back")
		}
		names = core.Renamed(names, n)
	}
	e.Names, e.Details = names, core.Detailed(old.Details, e.Details)
	changed := !slices.Equal(names, old.Names) || !maps.Equal(e.Details, old.Details) || e.Bot != old.Bot || e.Connector != old.Connector
	if !known || changed {
		d.met[e.ID] = time.Now()
	}
	d.people[e.ID] = e
	return core.NewsOf(known, false, false, changed), nil
}

// strip takes the names and details from a person.
func (d directoryModel) strip(id core.EntityID) {
	d.guard.Lock()
	defer d.guard.Unlock()
	if e, ok := d.people[id]; ok {
		e.Names, e.Details = nil, nil
		d.people[id] = e
	}
}

func (d directoryModel) World(_ context.Context, id core.WorldID) (core.World, error) {
	d.guard.Lock()
	defer d.guard.Unlock()
	w, ok := d.worlds[id]
	if !ok {
		return w, core.ErrNotFound
	}
	return w, nil
}

func (d directoryModel) SaveWorld(_ context.Context, w core.World) (core.News, error) {
	d.guard.Lock()
	defer d.guard.Unlock()
	old, known := d.worlds[w.ID]
	w.Name = cmp.Or(w.Name, old.Name)
	news := core.NewsOf(known, old.Gone, w.Gone, w.Name != old.Name || w.Connector != old.Connector)
	if news != core.Nothing {
		d.worlds[w.ID] = w
	}
	return news, nil
}

func (d directoryModel) SaveMember(_ context.Context, m core.Member) (core.News, error) {
	d.guard.Lock()
	defer d.guard.Unlock()
	if m.World == "" || m.Entity == "" {
		return core.Nothing, core.ErrNotFound
	}
	old, known := d.members[member{m.World, m.Entity}]
	m.Role = cmp.Or(m.Role, old.Role)
	news := core.NewsOf(known, old.Gone, m.Gone, m.Role != old.Role)
	if news != core.Nothing {
		d.members[member{m.World, m.Entity}] = m
	}
	return news, nil
}

func (d directoryModel) Members(_ context.Context, w core.WorldID, after core.EntityID, limit int) (all []core.Member, _ error) {
	d.guard.Lock()
	defer d.guard.Unlock()
	for _, m := range d.members {
		if m.World == w && m.Entity > after {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b core.Member) int { return cmp.Compare(a.Entity, b.Entity) })
	return all[:min(limit, len(all))], nil
}

// RoomsOf implements [core.Directory].
func (s *storeModel) RoomsOf(_ context.Context, w core.WorldID) (all []core.RoomID, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range maps.Keys(s.rooms) {
		if w != "" && s.rooms[id].World == w {
			all = append(all, id)
		}
	}
	slices.Sort(all)
	return all, nil
}
