// Package roster keeps up to date which worlds and rooms there are, and who is in them, from what platforms report.
package roster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"parley/core/chat"
	"parley/core/event"
	"parley/core/text"
)

// meetTimeout is how long saving the author of a message may take: the next message does it again.
const meetTimeout = time.Second

// Store is what a roster needs of a store. Errors are those of package storage; what is saved unchanged is [chat.Nothing] new.
type Store interface {
	Meet(ctx context.Context, e chat.Entity) (chat.News, error)
	World(ctx context.Context, id chat.WorldID) (chat.World, error)
	SaveWorld(ctx context.Context, w chat.World) (chat.News, error)
	SaveMember(ctx context.Context, m chat.Member) (chat.News, error)
	RoomsOf(ctx context.Context, id chat.WorldID) ([]chat.RoomID, error)
	Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
	SaveRoom(ctx context.Context, r chat.Room) error
}

// Roster saves who and what there is, and emits events of what is new. Its fields are set once. Safe for concurrent use.
type Roster struct {
	Store Store
	Agent chat.EntityID
	Emit  func(event.Event)
	Stop  func(ctx context.Context, room chat.RoomID) error // ends the open turns of a room that the agent has left
	Log   *slog.Logger
}

// Meet keeps the directory up to date with who writes, and where. It may fail: then the next message does it.
func (ro *Roster) Meet(ctx context.Context, m chat.Message) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), meetTimeout)
	defer cancel()
	world := chat.World{ID: m.Place.World, Connector: m.Place.Connector, Name: text.Visible(m.WorldName)}
	author := chat.Entity{ID: m.Author, Connector: m.Place.Connector, Names: []string{m.Name}, Bot: m.Bot}
	err := ro.enter(ctx, world, false)
	if err == nil && m.Author != "" {
		err = ro.enroll(ctx, world.ID, author, "")
	}
	if err != nil {
		ro.Log.Warn("can't save the author of a message", "message", m.ID, "err", err)
	}
}

// Joined remembers who is where. The same said again is nothing new.
func (ro *Roster) Joined(ctx context.Context, j chat.Joined) error {
	j.World.Name, j.World.Gone = text.Visible(j.World.Name), false
	if err := ro.enter(ctx, j.World, j.Entity.ID == ""); err != nil {
		return fmt.Errorf("join %s: %w", j.World.ID, err)
	}
	if j.Room.ID != "" {
		if err := ro.open(ctx, j.Room); err != nil {
			return fmt.Errorf("join %s: %w", j.Room.ID, err)
		}
	}
	if j.Entity.ID == "" || j.Entity.ID == ro.Agent {
		return nil
	}
	for i, name := range j.Entity.Names {
		j.Entity.Names[i] = text.Visible(name)
	}
	if err := ro.enroll(ctx, j.World.ID, j.Entity, text.Visible(j.Role)); err != nil {
		return fmt.Errorf("%s joins %s: %w", j.Entity.ID, j.World.ID, err)
	}
	return nil
}

// enter saves a world in which the agent is. reached says that its connector says so, without a message.
func (ro *Roster) enter(ctx context.Context, w chat.World, reached bool) error {
	if w.ID == "" {
		return nil
	}
	news, err := ro.Store.SaveWorld(ctx, w)
	switch {
	case err != nil:
		return err
	case news == chat.Came:
		ro.Emit(event.WorldJoined{World: w})
	case reached:
		ro.Emit(event.WorldConnected{World: w})
	}
	return nil
}

// open saves a room in which the agent is.
func (ro *Roster) open(ctx context.Context, r chat.Room) error {
	r.Name, r.Gone = text.Visible(r.Name), false
	old, err := ro.Store.Room(ctx, r.ID)
	if chat.Unless(err, chat.ErrNotFound) != nil {
		return err
	}
	if err := ro.Store.SaveRoom(ctx, r); err != nil {
		return err
	}
	if old.ID == "" || old.Gone {
		ro.Emit(event.RoomJoined{Room: r})
	}
	return nil
}

// enroll saves a person or a bot, and their membership of a world, if there is one.
func (ro *Roster) enroll(ctx context.Context, world chat.WorldID, e chat.Entity, role string) error {
	news, err := ro.Store.Meet(ctx, e)
	if err != nil {
		return err
	}
	if news == chat.Changed {
		ro.Emit(event.EntityUpdated{Entity: e})
	}
	if world == "" {
		return nil
	}
	news, err = ro.Store.SaveMember(ctx, chat.Member{World: world, Entity: e.ID, Role: role})
	switch {
	case err != nil:
		return err
	case news == chat.Came:
		ro.Emit(event.EntityJoined{World: world, Entity: e, Role: role})
	case news == chat.Changed:
		ro.Emit(event.EntityUpdated{World: world, Entity: e, Role: role})
	}
	return nil
}

// Left remembers who is where no more. What the agent can't see any more is not answered any more.
func (ro *Roster) Left(ctx context.Context, l chat.Left) (err error) {
	switch {
	case l.Entity != "" && l.Entity != ro.Agent:
		err = ro.dismiss(ctx, chat.Member{World: l.World, Entity: l.Entity, Gone: true})
	case l.World != "":
		err = ro.leaveWorld(ctx, l.World)
	default:
		err = ro.leaveRoom(ctx, l.Room)
	}
	if err != nil {
		return fmt.Errorf("leave %s%s: %w", l.World, l.Room, err)
	}
	return nil
}

func (ro *Roster) dismiss(ctx context.Context, m chat.Member) error {
	if m.World == "" {
		return nil
	}
	news, err := ro.Store.SaveMember(ctx, m)
	if err == nil && news == chat.Went {
		ro.Emit(event.EntityLeft{World: m.World, Entity: m.Entity})
	}
	return err
}

func (ro *Roster) leaveWorld(ctx context.Context, id chat.WorldID) error {
	w, err := ro.Store.World(ctx, id)
	if err != nil {
		return chat.Unless(err, chat.ErrNotFound)
	}
	w.Gone = true
	news, err := ro.Store.SaveWorld(ctx, w)
	if err != nil {
		return err
	}
	if news == chat.Went {
		ro.Emit(event.WorldLeft{World: id})
	}
	rooms, err := ro.Store.RoomsOf(ctx, id)
	for _, room := range rooms {
		err = errors.Join(err, ro.Stop(ctx, room))
	}
	return err
}

func (ro *Roster) leaveRoom(ctx context.Context, id chat.RoomID) error {
	r, err := ro.Store.Room(ctx, id)
	if err != nil {
		return chat.Unless(err, chat.ErrNotFound)
	}
	if !r.Gone {
		r.Gone = true
		if err := ro.Store.SaveRoom(ctx, r); err != nil {
			return err
		}
		ro.Emit(event.RoomLeft{Room: id})
	}
	return ro.Stop(ctx, id)
}

// BotRemoved reports whether the agent was removed from where run was to be answered.
func (ro *Roster) BotRemoved(ctx context.Context, run chat.Run) (bool, error) {
	r, err := ro.Store.Room(ctx, run.Room)
	if err != nil || r.Gone || r.World == "" {
		return r.Gone, chat.Unless(err, chat.ErrNotFound)
	}
	w, err := ro.Store.World(ctx, r.World)
	return w.Gone, chat.Unless(err, chat.ErrNotFound)
}
