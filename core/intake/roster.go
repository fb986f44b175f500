package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"parley/core/access"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/text"
)

// meetTimeout is the time limit for saving the author of a message: the next message repeats it.
const meetTimeout = time.Second

// languageTag matches the locales that are saved. Clients can send any text.
var languageTag = regexp.MustCompile(`^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$`)

// RosterStore contains the store methods of [Roster]. Errors are those of package storage; saving an unchanged value
// returns [chat.Nothing].
type RosterStore interface {
	SaveEntity(ctx context.Context, e chat.Entity) (chat.News, error)
	World(ctx context.Context, id chat.WorldID) (chat.World, error)
	SaveWorld(ctx context.Context, w chat.World) (chat.News, error)
	SaveMember(ctx context.Context, m chat.Member) (chat.News, error)
	RoomsOf(ctx context.Context, id chat.WorldID) ([]chat.RoomID, error)
	Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
	SaveRoom(ctx context.Context, r chat.Room) error
}

// Roster tracks worlds, rooms and members as platforms report them, and emits events of changes. Its fields are set
// before use. It is safe for concurrent use.
type Roster struct {
	Store   RosterStore
	Agent   chat.EntityID
	Pairing *access.Pairing
	Stops   *Stopper // ends the open turns of a room that the agent has left
	Emit    func(event.Event)
	Log     *slog.Logger
}

// saveAuthor updates the directory with the author and the room of m. It may fail: then the next message repeats it.
func (ro *Roster) saveAuthor(ctx context.Context, m chat.Message) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), meetTimeout)
	defer cancel()
	world := chat.World{ID: m.Place.World, Connector: m.Place.Connector, Name: text.Visible(m.WorldName)}
	author := chat.Entity{ID: m.Author, Connector: m.Place.Connector, Names: []string{m.Name}, Bot: m.Bot}
	for about, tag := range map[string]string{chat.LocaleDetail: m.Locale, chat.PlaceLocaleDetail: m.PlaceLocale} {
		if languageTag.MatchString(tag) {
			author.Details = chat.Detailed(author.Details, map[string]string{about: tag})
		}
	}
	err := ro.saveWorld(ctx, world, false)
	if err == nil && m.Author != "" {
		err = ro.enroll(ctx, world.ID, author, "")
	}
	if err != nil {
		ro.Log.Warn("can't save the author of a message", "message", m.ID, "err", err)
	}
}

// joined stores a membership. A repetition changes nothing. It fails with the error of the store.
func (ro *Roster) joined(ctx context.Context, j chat.Joined) error {
	j.World.Name, j.World.Gone = text.Visible(j.World.Name), false
	if err := ro.saveWorld(ctx, j.World, j.Entity.ID == ""); err != nil {
		return fmt.Errorf("join %s: %w", j.World.ID, err)
	}
	if j.Room.ID != "" {
		if err := ro.saveRoom(ctx, j.Room); err != nil {
			return fmt.Errorf("join %s: %w", j.Room.ID, err)
		}
	}
	if j.Direct.ID != "" {
		_, err := ro.Store.Room(ctx, j.Direct.ID)
		if errors.Is(err, chat.ErrNotFound) { // otherwise it has a name
			err = ro.saveRoom(ctx, j.Direct)
		}
		if err != nil {
			return fmt.Errorf("find the direct chat with %s: %w", j.AddedBy, err)
		}
	}
	if j.Entity.ID == "" || j.Entity.ID == ro.Agent {
		if err := ro.Pairing.Arrived(ctx, j); err != nil {
			return fmt.Errorf("ask about %s: %w", j.World.ID, err)
		}
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

// saveWorld saves a world of the agent. reached reports whether its connector reports it directly, without a message. It
// fails with the error of the store.
func (ro *Roster) saveWorld(ctx context.Context, w chat.World, reached bool) error {
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

// saveRoom saves a room of the agent. It fails with the error of the store.
func (ro *Roster) saveRoom(ctx context.Context, r chat.Room) error {
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

// enroll saves a user or a bot, and their membership of a world, if there is one. It fails with the error of the store.
func (ro *Roster) enroll(ctx context.Context, world chat.WorldID, e chat.Entity, role string) error {
	news, err := ro.Store.SaveEntity(ctx, e)
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

// left stores the end of a membership. Rooms that the agent can no longer see get no more answers. It fails with the
// error of the store.
func (ro *Roster) left(ctx context.Context, l chat.Left) (err error) {
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
		err = errors.Join(err, ro.Stops.Stop(ctx, room, chat.EveryTurn))
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
	return ro.Stops.Stop(ctx, id, chat.EveryTurn)
}
