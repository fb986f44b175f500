package access

import (
	"context"
	"fmt"
	"strings"
	"time"

	"parley/core/chat"
)

// OpeningHandler is the name of the handler of an owner's choice about a new server or group. It is stored with questions.
const OpeningHandler = "first day"

// Texts about a new server or group.
const (
	arrivedLine = "I was added to **%s** on %s. Who can talk to me there?"
	openLine    = "Everyone in %s can talk to me now. %s"
	closedLine  = "In %s I only answer people you approve."
	hasLimits   = "Unless `limits` says otherwise, each person can send 50 messages and use 100000 tokens a day there, and everyone together 2000000 tokens."
	helloLine   = "Hello! To begin:\n1. Mention me with a question.\n2. Ask my owner for access, if I don't answer. They know that I am here, and can let everyone in.\n3. `/help` shows what else I can do."
)

const (
	openedName  = "opened"           // the name of the stored worlds
	arrivedLate = 24 * time.Hour     // an arrival that is older is not asked about
	openingTime = 7 * 24 * time.Hour // for the owner's choice
)

// isOpen reports whether an owner has let everyone in r talk to the agent. It fails with the error of the store.
func (d *Pairing) isOpen(ctx context.Context, r chat.Room) (bool, error) {
	if r.World == "" || d.Memo == nil {
		return false, nil
	}
	open, err := d.open.read(ctx, d.Memo, openedName)
	if err != nil {
		return false, err
	}
	if d.Public != nil {
		d.Public(len(open.all) > 0)
	}
	return !open.all[chat.EntityID(r.World)].IsZero(), nil
}

// Arrived asks the owners, once, who can talk to the agent in a world that it was just added to, and greets its members. If it can't write
// there, it tells the owners, once. It fails with the error of the store.
func (d *Pairing) Arrived(ctx context.Context, j chat.Joined) error {
	if !j.Muted.IsZero() {
		return d.TellOwners(ctx, fmt.Sprintf("muted/%s/%d", j.World.ID, j.Muted.Unix()), "owner.muted", "place", j.World.Name)
	}
	if j.World.ID == "" || j.Added.IsZero() || time.Since(j.Added) > arrivedLate || d.Memo == nil || d.Policy.Open[j.World.Connector] {
		return nil
	}
	place := chat.Room{World: j.World.ID, Connector: j.World.Connector, Kind: chat.Group, Chats: j.Room.Chats}
	if d.Policy.Off(place) || d.Policy.Guests.hold(place) {
		return nil // the configuration decides
	}
	rooms, err := d.OwnersRooms(ctx)
	if err != nil || len(rooms) == 0 {
		return err
	}
	key := fmt.Sprintf("arrived/%s/%d", j.World.ID, j.Added.Unix())
	text := fmt.Sprintf(arrivedLine, j.World.Name, j.World.Connector)
	if j.Note != "" {
		text += "\n\n" + j.Note
	}
	for owner, room := range rooms {
		err := d.Tell(ctx, chat.Notice{To: chat.Address{Room: room}, Key: key, Text: text, Ask: &chat.Question{
			Options: []string{"Everyone here", "Only people I approve"}, For: []chat.EntityID{owner}, Expires: time.Now().Add(openingTime),
			Handler: OpeningHandler, Payload: string(j.World.ID) + " " + j.World.Name,
		}})
		if err != nil {
			d.Log.Warn("can't ask the owner about a new server or group", "world", j.World.ID, "err", err)
		}
	}
	if j.Room.Address.Connector != "" {
		if err := d.Tell(ctx, chat.Notice{To: j.Room.Address, Key: key, Text: helloLine}); err != nil {
			d.Log.Warn("can't greet a new server or group", "world", j.World.ID, "err", err)
		}
	}
	return nil
}

// ChosenOpening carries out an owner's choice about a new server or group, and returns the reply. notYours is the reply to other users. It
// fails with the error of the store.
func (d *Pairing) ChosenOpening(ctx context.Context, q chat.Question, notYours string) (string, error) {
	if owns, err := d.Owns(ctx, q.By); err != nil || !owns {
		return notYours, err
	}
	world, name, _ := strings.Cut(q.Payload, " ")
	open := q.Choice == 0
	err := d.open.change(ctx, d.Memo, openedName, func(all map[chat.EntityID]time.Time) error {
		if delete(all, chat.EntityID(world)); open {
			all[chat.EntityID(world)] = time.Now().UTC()
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if d.Audit != nil {
		d.Audit(ctx, q.By, map[bool]string{true: "open", false: "close"}[open], world)
	}
	if !open {
		return fmt.Sprintf(closedLine, name), nil
	}
	return fmt.Sprintf(openLine, name, hasLimits), nil
}
