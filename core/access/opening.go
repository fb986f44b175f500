package access

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"parley/core/chat"
	"parley/core/text"
	"parley/internal/lang"
)

// OpeningHandler is the name of the handler of an owner's choice about a new server or group. It is stored with questions.
const OpeningHandler = "first day"

const (
	openedName  = "opened"           // the name of the stored worlds
	arrivedLate = 24 * time.Hour     // an arrival that is older is not asked about
	openingTime = 7 * 24 * time.Hour // for the owner's choice

	mostChannels = 10  // options of a question
	mostNamed    = 500 // channels of a server: further ones can't be chosen
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
	in := !open.all[chat.EntityID(r.World)].IsZero()
	for _, id := range r.Chats {
		in = in || !open.all[channelKey(r.Connector, id)].IsZero()
	}
	return in, nil
}

// channelKey is the key of an open channel in the stored list; those of worlds have a slash.
func channelKey(connector, id string) chat.EntityID { return chat.EntityID(connector + ":" + id) }

// opening is the payload of the questions about a new server or group. It is stored.
type opening struct {
	World    chat.WorldID   `json:"world"`
	Name     string         `json:"name"`
	Channels []chat.Channel `json:"channels,omitempty"`
	Which    bool           `json:"which,omitempty"` // the options are the channels
}

// Arrived asks the owners, once, who can talk to the agent in a world that it was just added to, and greets its members. If it can't write
// there, or lacks permissions, it tells the owners, once. It fails with the error of the store.
func (d *Pairing) Arrived(ctx context.Context, j chat.Joined) error {
	if !j.Muted.IsZero() {
		return d.TellOwners(ctx, fmt.Sprintf("muted/%s/%d", j.World.ID, j.Muted.Unix()), "owner.muted", "place", j.World.Name)
	}
	if err := d.tellLacking(ctx, j); err != nil {
		return err
	}
	if j.World.ID == "" || j.Added.IsZero() || time.Since(j.Added) > arrivedLate || d.Memo == nil || d.Policy.Open[j.World.Connector] {
		return nil
	}
	place := chat.Room{World: j.World.ID, Connector: j.World.Connector, Kind: chat.Group, Chats: j.Room.Chats}
	if d.Policy.Off(place) {
		return nil
	}
	rooms, err := d.OwnersRooms(ctx)
	if err != nil {
		return err
	}
	key := fmt.Sprintf("arrived/%s/%d", j.World.ID, j.Added.Unix())
	given := d.Policy.Guests.hold(place) // the configuration lets everyone in
	if _, owns := rooms[j.AddedBy]; j.Direct.ID != "" && (given || !owns) {
		v := lang.In(j.Locale)
		text := v.Say("opening.added", "place", j.World.Name) + "\n\n" + v.Say("opening.hello")
		if err := d.Tell(ctx, chat.Notice{To: j.Direct.Address, Key: key, Text: text}); err != nil {
			d.Log.Warn("can't welcome the user who added the agent", "world", j.World.ID, "err", err)
		}
	}
	if given || len(rooms) == 0 {
		return nil
	}
	payload, err := json.Marshal(opening{World: j.World.ID, Name: j.World.Name, Channels: j.Channels[:min(len(j.Channels), mostNamed)]})
	if err != nil {
		return fmt.Errorf("ask about %s: %w", j.World.ID, err)
	}
	for owner, room := range rooms {
		ctx := d.Speak(ctx, owner)
		text := lang.Say(ctx, "opening.arrived", "place", j.World.Name, "platform", j.World.Connector)
		if owner == j.AddedBy {
			text = lang.Say(ctx, "opening.added", "place", j.World.Name) + " " + lang.Say(ctx, "opening.steps") + "\n\n" + text
		}
		if j.Note != "" {
			text += "\n\n" + j.Note
		}
		options := []string{lang.Say(ctx, "opening.everyone"), lang.Say(ctx, "opening.channel"), lang.Say(ctx, "opening.approved")}
		if len(j.Channels) == 0 {
			options = slices.Delete(options, 1, 2)
		}
		err := d.Tell(ctx, chat.Notice{To: chat.Address{Room: room}, Key: key, Text: text, Ask: &chat.Question{
			Options: options, For: []chat.EntityID{owner}, Expires: time.Now().Add(openingTime), Handler: OpeningHandler, Payload: string(payload),
		}})
		if err != nil {
			d.Log.Warn("can't ask the owner about a new server or group", "world", j.World.ID, "err", err)
		}
	}
	if j.Room.Address.Connector != "" {
		if err := d.Tell(ctx, chat.Notice{To: j.Room.Address, Key: key, Text: lang.In(j.Locale).Say("opening.hello")}); err != nil {
			d.Log.Warn("can't greet a new server or group", "world", j.World.ID, "err", err)
		}
	}
	return nil
}

// tellLacking tells the owners about the permissions that the agent lacks in channels of a server: once for each channel, unless other ones are
// lacking there later. It fails with the error of the store.
func (d *Pairing) tellLacking(ctx context.Context, j chat.Joined) error {
	owners, err := d.OwnersRooms(ctx)
	if err != nil || len(owners) == 0 || len(j.Lacking) == 0 {
		return err
	}
	var told lists[[]string] // the permissions by channel; few servers have any, so they are not cached
	name := "lacks/" + string(j.World.ID)
	before, err := told.read(ctx, d.Memo, name)
	if err != nil {
		return err
	}
	var names, ids []string
	now := map[chat.EntityID][]string{}
	for _, c := range j.Lacking {
		lacks, id := strings.Join(c.Lacks, ", "), chat.EntityID(c.ID)
		if !slices.ContainsFunc(c.Lacks, func(p string) bool { return !slices.Contains(before.all[id], p) }) {
			continue
		}
		in, err := !j.Described, error(nil)
		if !in {
			in, err = d.serves(ctx, chat.Room{World: j.World.ID, Connector: j.World.Connector, Kind: chat.Group, Chats: []string{c.ID}})
		}
		if err != nil {
			return err
		}
		if in {
			names, ids, now[id] = append(names, fmt.Sprintf("#%s (%s)", c.Name, lacks)), append(ids, c.ID+"/"+lacks), c.Lacks
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(ids)
	set := sha256.Sum256([]byte(strings.Join(ids, ";")))
	if len(names) > mostChannels {
		names = append(names[:mostChannels], "…")
	}
	key := fmt.Sprintf("%s/%x", name, set[:12]) // a crash before the record repeats nothing
	err = d.TellOwners(ctx, key, "owner.lacks", "place", j.World.Name, "permissions", strings.Join(names, ", "))
	if err != nil || d.Memo == nil {
		return err
	}
	return told.change(ctx, d.Memo, name, func(all map[chat.EntityID][]string) error {
		maps.Copy(all, now)
		return nil
	})
}

// serves reports whether the configuration or an owner has chosen r as a place where users talk to the agent. It fails with the error of
// the store.
func (d *Pairing) serves(ctx context.Context, r chat.Room) (bool, error) {
	if d.Policy.Off(r) {
		return false, nil
	}
	if d.Policy.Guests.hold(r) || d.Policy.Listen.hold(r) || d.Policy.Always.hold(r) {
		return true, nil
	}
	return d.isOpen(ctx, r)
}

// ChosenOpening carries out an owner's choice about a new server or group, and returns the reply. notYours is the reply to other users. It
// fails with the error of the store.
func (d *Pairing) ChosenOpening(ctx context.Context, q chat.Question, notYours string) (string, error) {
	if owns, err := d.Owns(ctx, q.By); err != nil || !owns {
		return "", chat.Refuse(notYours, err)
	}
	var about opening
	if err := json.Unmarshal([]byte(q.Payload), &about); err != nil { // of an earlier version
		world, name, _ := strings.Cut(q.Payload, " ")
		about.World, about.Name = chat.WorldID(world), name
	}
	key, open := chat.EntityID(about.World), q.Choice == 0
	switch {
	case about.Which:
		one, ok := about.chosen(q)
		if !ok {
			return "", d.askWhich(ctx, q, about, lang.Say(ctx, "opening.no_channel", "channel", text.Label(q.Options[q.Choice]))+" ")
		}
		connector, _, _ := strings.Cut(string(about.World), "/")
		key, open, about.Name = channelKey(connector, one.ID), true, fmt.Sprintf("#%s (%s)", one.Name, about.Name)
	case len(about.Channels) > 0 && q.Choice == 1:
		return "", d.askWhich(ctx, q, about, "")
	}
	err := d.open.change(ctx, d.Memo, openedName, func(all map[chat.EntityID]time.Time) error {
		delete(all, chat.EntityID(about.World))
		if open {
			all[key] = time.Now().UTC()
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if d.Audit != nil {
		d.Audit(ctx, q.By, map[bool]string{true: "open", false: "close"}[open], string(key))
	}
	if !open {
		return lang.Say(ctx, "opening.closed", "place", about.Name), nil
	}
	return lang.Say(ctx, "opening.open", "place", about.Name), nil
}

// chosen returns the channel that an owner has chosen, or named as Discord shows or mentions it; ok is false for an unknown name.
func (o opening) chosen(q chat.Question) (one chat.Channel, ok bool) {
	if q.Choice < min(len(o.Channels), mostChannels) {
		return o.Channels[q.Choice], true
	}
	name := strings.Trim(q.Options[q.Choice], "#<> ")
	i := slices.IndexFunc(o.Channels, func(c chat.Channel) bool { return strings.EqualFold(c.Name, name) || c.ID == name })
	if i < 0 {
		return one, false
	}
	return o.Channels[i], true
}

// askWhich asks an owner, after a sentence, which channel of a server everyone can use. It fails with the error of Tell.
func (d *Pairing) askWhich(ctx context.Context, q chat.Question, about opening, first string) error {
	about.Which = true
	payload, err := json.Marshal(about)
	if err != nil {
		return fmt.Errorf("ask about a channel: %w", err)
	}
	ask := chat.Question{For: q.For, Expires: time.Now().Add(openingTime), Handler: OpeningHandler, Payload: string(payload)}
	for _, c := range about.Channels[:min(len(about.Channels), mostChannels)] {
		ask.Options = append(ask.Options, "#"+c.Name)
	}
	if len(about.Channels) > mostChannels {
		ask.Other = lang.Say(ctx, "opening.other")
	}
	return d.Tell(ctx, chat.Notice{
		To: chat.Address{Room: q.Room}, Key: "which/" + q.ID, Text: first + lang.Say(ctx, "opening.which", "place", about.Name), Ask: &ask,
	})
}
