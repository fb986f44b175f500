package core

import (
	"context"
	"errors"
	"fmt"

	"parley/core/chat"
	"parley/core/event"
	"parley/core/text"
)

// places keeps up to date which worlds and rooms there are, and who is in them.
type places struct{ rt *Runtime }

// meet keeps the directory up to date with who writes, and where. It may fail: then the next message does it.
func (pl *places) meet(ctx context.Context, m chat.Message) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), coordTimeout)
	defer cancel()
	world := chat.World{ID: m.Place.World, Connector: m.Place.Connector, Name: text.Visible(m.WorldName)}
	author := chat.Entity{ID: m.Author, Connector: m.Place.Connector, Names: []string{m.Name}, Bot: m.Bot}
	err := pl.enter(ctx, world, false)
	if err == nil && m.Author != "" {
		err = pl.enroll(ctx, world.ID, author, "")
	}
	if err != nil {
		pl.rt.cfg.Log.Warn("can't save the author of a message", "message", m.ID, "err", err)
	}
}

// joined remembers who is where. The same said again is nothing new.
func (pl *places) joined(ctx context.Context, j chat.Joined) error {
	j.World.Name, j.World.Gone = text.Visible(j.World.Name), false
	if err := pl.enter(ctx, j.World, j.Entity.ID == ""); err != nil {
		return fmt.Errorf("join %s: %w", j.World.ID, err)
	}
	if j.Room.ID != "" {
		if err := pl.open(ctx, j.Room); err != nil {
			return fmt.Errorf("join %s: %w", j.Room.ID, err)
		}
	}
	if j.Entity.ID == "" || j.Entity.ID == pl.rt.cfg.Agent.Entity() {
		return nil
	}
	for i, name := range j.Entity.Names {
		j.Entity.Names[i] = text.Visible(name)
	}
	if err := pl.enroll(ctx, j.World.ID, j.Entity, text.Visible(j.Role)); err != nil {
		return fmt.Errorf("%s joins %s: %w", j.Entity.ID, j.World.ID, err)
	}
	return nil
}

// enter saves a world in which the agent is. reached says that its connector says so, without a message.
func (pl *places) enter(ctx context.Context, w chat.World, reached bool) error {
	if w.ID == "" {
		return nil
	}
	news, err := pl.rt.cfg.Store.SaveWorld(ctx, w)
	switch {
	case err != nil:
		return err
	case news == chat.Came:
		pl.rt.hub.Emit(event.WorldJoined{World: w})
	case reached:
		pl.rt.hub.Emit(event.WorldConnected{World: w})
	}
	return nil
}

// open saves a room in which the agent is.
func (pl *places) open(ctx context.Context, r chat.Room) error {
	r.Name, r.Gone = text.Visible(r.Name), false
	old, err := pl.rt.cfg.Store.Room(ctx, r.ID)
	if ignore(err, chat.ErrNotFound) != nil {
		return err
	}
	if err := pl.rt.cfg.Store.SaveRoom(ctx, r); err != nil {
		return err
	}
	if old.ID == "" || old.Gone {
		pl.rt.hub.Emit(event.RoomJoined{Room: r})
	}
	return nil
}

// enroll saves a person or a bot, and their membership of a world, if there is one.
func (pl *places) enroll(ctx context.Context, world chat.WorldID, e chat.Entity, role string) error {
	news, err := pl.rt.cfg.Store.Meet(ctx, e)
	if err != nil {
		return err
	}
	if news == chat.Changed {
		pl.rt.hub.Emit(event.EntityUpdated{Entity: e})
	}
	if world == "" {
		return nil
	}
	news, err = pl.rt.cfg.Store.SaveMember(ctx, chat.Member{World: world, Entity: e.ID, Role: role})
	switch {
	case err != nil:
		return err
	case news == chat.Came:
		pl.rt.hub.Emit(event.EntityJoined{World: world, Entity: e, Role: role})
	case news == chat.Changed:
		pl.rt.hub.Emit(event.EntityUpdated{World: world, Entity: e, Role: role})
	}
	return nil
}

// left remembers who is where no more. What the agent can't see any more is not answered any more.
func (pl *places) left(ctx context.Context, l chat.Left) (err error) {
	switch {
	case l.Entity != "" && l.Entity != pl.rt.cfg.Agent.Entity():
		err = pl.dismiss(ctx, chat.Member{World: l.World, Entity: l.Entity, Gone: true})
	case l.World != "":
		err = pl.leaveWorld(ctx, l.World)
	default:
		err = pl.leaveRoom(ctx, l.Room)
	}
	if err != nil {
		return fmt.Errorf("leave %s%s: %w", l.World, l.Room, err)
	}
	return nil
}

func (pl *places) dismiss(ctx context.Context, m chat.Member) error {
	if m.World == "" {
		return nil
	}
	news, err := pl.rt.cfg.Store.SaveMember(ctx, m)
	if err == nil && news == chat.Went {
		pl.rt.hub.Emit(event.EntityLeft{World: m.World, Entity: m.Entity})
	}
	return err
}

func (pl *places) leaveWorld(ctx context.Context, id chat.WorldID) error {
	w, err := pl.rt.cfg.Store.World(ctx, id)
	if err != nil {
		return ignore(err, chat.ErrNotFound)
	}
	w.Gone = true
	news, err := pl.rt.cfg.Store.SaveWorld(ctx, w)
	if err != nil {
		return err
	}
	if news == chat.Went {
		pl.rt.hub.Emit(event.WorldLeft{World: id})
	}
	rooms, err := pl.rt.cfg.Store.RoomsOf(ctx, id)
	for _, room := range rooms {
		err = errors.Join(err, pl.rt.commands.stop(ctx, room, everyTurn))
	}
	return err
}

func (pl *places) leaveRoom(ctx context.Context, id chat.RoomID) error {
	r, err := pl.rt.cfg.Store.Room(ctx, id)
	if err != nil {
		return ignore(err, chat.ErrNotFound)
	}
	if !r.Gone {
		r.Gone = true
		if err := pl.rt.cfg.Store.SaveRoom(ctx, r); err != nil {
			return err
		}
		pl.rt.hub.Emit(event.RoomLeft{Room: id})
	}
	return pl.rt.commands.stop(ctx, id, everyTurn)
}

// botRemoved reports whether the agent was removed from where run was to be answered.
func (pl *places) botRemoved(ctx context.Context, run chat.Run) (bool, error) {
	r, err := pl.rt.cfg.Store.Room(ctx, run.Room)
	if err != nil || r.Gone || r.World == "" {
		return r.Gone, ignore(err, chat.ErrNotFound)
	}
	w, err := pl.rt.cfg.Store.World(ctx, r.World)
	return w.Gone, ignore(err, chat.ErrNotFound)
}
