package access

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"parley/core/chat"
	"parley/core/text"
	"parley/internal/lang"
)

// Talks reports whether a user and a person talk in room. It fails with the error of the store.
func (hs *Handovers) Talks(ctx context.Context, room chat.RoomID) (bool, error) {
	_, h, err := hs.find(ctx, room)
	return h.Person != "", err
}

// Relay passes a message of a conversation that a person has taken over to the other side, and reports whether the agent stays silent about it. It
// comes before the message is stored: if the process dies in between, the message is delivered again, and its notice is not repeated. It fails with
// the error of the store.
func (hs *Handovers) Relay(ctx context.Context, m chat.Message) (silent bool, err error) {
	if !m.Place.Kind.Private() || m.Bot {
		return false, nil
	}
	room, h, err := hs.find(ctx, m.Room)
	if err != nil || h.Person == "" {
		return false, err
	}
	if may, err := hs.stillThere(ctx, room, h); err != nil || !may {
		return false, err
	}
	switch {
	case m.Remark:
		return true, nil
	case m.Room == room:
		err = hs.pass(ctx, h.Desk, h, m.Memory, h.User(hs.Speak(ctx, h.Person)))
		if isGone(err) {
			return false, hs.release(ctx, room, h)
		}
		if err == nil && h.Waits.IsZero() {
			_, err = hs.update(ctx, room, h, func(h *Handover) { h.Waits, h.Late = time.Now().UTC(), false })
		}
		return true, err
	case strings.HasPrefix(m.Text, noteMark):
		return true, note(ctx, hs, room, h, string(m.ID), strings.TrimPrefix(m.Text, noteMark))
	}
	return true, hs.reply(ctx, room, h, hs.pass(ctx, room, h, m.Memory, h.As))
}

// reply completes a message of the person to the user, whose delivery returned err. It fails with err, and with the error of the store; a user who
// has deleted the conversation ends it.
func (hs *Handovers) reply(ctx context.Context, room chat.RoomID, h Handover, err error) error {
	if isGone(err) {
		return hs.vanished(ctx, room, h, "person.gone")
	}
	if err == nil && (!h.Waits.IsZero() || h.Late) {
		_, err = hs.update(ctx, room, h, func(h *Handover) { h.Waits, h.Late = time.Time{}, false })
	}
	return err
}

// note stores a note that only the staff reads, on the operator's page; without words it deletes it. It fails with the error of the store.
func note(ctx context.Context, hs *Handovers, room chat.RoomID, h Handover, key, said string) error {
	if said = strings.TrimSpace(said); said != "" {
		said = h.As + ": " + said
	}
	err := hs.Store.SaveNote(ctx, chat.RoomNote{Room: room, Kind: chat.StaffNote, Key: key, About: h.Person, Text: said, At: time.Now()})
	return chat.Unless(err, chat.ErrNotFound)
}

// pass sends m to the other side, under the name of its author.
func (hs *Handovers) pass(ctx context.Context, to chat.RoomID, h Handover, m chat.Memory, name string) error {
	if to == "" { // the operator's page shows the conversation itself
		return nil
	}
	n := chat.Notice{To: chat.Address{Room: to}, Key: h.key(string(m.ID)), Text: under(name, m)}
	if len(m.Files) > 0 && hs.Copy != nil {
		n.Files = hs.Copy(ctx, m, chat.Memory{ID: chat.NoticeID(to, n.Key), Room: to, Author: hs.Agent})
	}
	return hs.Tell(ctx, n)
}

// Refused processes the notice id of a talk, which the platform has refused to post in room, as Discord does with the direct chat of a user who has
// closed it: another person is asked for, or the person is told. Other notices are ignored. It fails with the error of the store.
func (hs *Handovers) Refused(ctx context.Context, room chat.RoomID, id chat.MemoryID) error {
	asked, h, err := hs.find(ctx, room)
	switch {
	case err != nil || !strings.HasPrefix(string(id), string(chat.NoticeID(room, h.key("")))):
		return err
	case room == asked:
		return hs.vanished(ctx, room, h, "person.unreachable")
	}
	return hs.release(ctx, asked, h)
}

// Unconfirmed tells the author of a message that was passed on as the notice id of room that it may not have arrived, once. Other notices are ignored. It
// fails with the error of the store.
func (hs *Handovers) Unconfirmed(ctx context.Context, room chat.RoomID, id chat.MemoryID) error {
	asked, h, err := hs.find(ctx, room)
	what, passed := strings.CutPrefix(string(id), string(chat.NoticeID(room, h.key(""))))
	if kind, _, of := strings.Cut(what, "/"); err != nil || h.Person == "" || !passed || !of || kind == "late" || kind == "unconfirmed" {
		return err
	}
	key := h.key("unconfirmed/" + what)
	switch {
	case room != asked:
		return hs.tell(ctx, h.Asker, asked, key, "person.unconfirmed", "user", text.Unmarked(h.As))
	case h.Desk == "":
		return note(ctx, hs, room, h, key, lang.Say(ctx, "person.unconfirmed", "user", h.User(ctx)))
	}
	return hs.tellPerson(ctx, h, "unconfirmed/"+what, "person.unconfirmed")
}

// PassesOn reports whether the draft of a notice is a message of a person or of their user.
func PassesOn(draft chat.Memory) bool {
	draft.Actions = []string{chat.PersonAction}
	name, _ := draft.ByPerson()
	return name != "" && strings.HasPrefix(string(draft.ID), string(chat.NoticeID(draft.Room, talkKey)))
}

// under returns the text of m under a name, with the names of its files.
func under(name string, m chat.Memory) string {
	line := "**" + text.Unmarked(name) + "**: " + m.Text
	for _, f := range m.Files {
		if !f.Link && f.Name != "" {
			line += "\n📎 " + text.Unmarked(text.Label(f.Name))
		}
	}
	return strings.TrimSpace(line)
}

// Edited passes an edit to the other side, or a deletion, if m is empty: the message there changes, or a new one follows if others have come since. A
// message that becomes a note is deleted there. It reports whether a user and a person talk in the room. It fails with the error of the store.
func (hs *Handovers) Edited(ctx context.Context, m chat.Memory) (talks bool, err error) {
	asked, h, err := hs.find(ctx, m.Room)
	if talks = h.Person != ""; err != nil || !talks || h.Desk == "" {
		return talks, err
	}
	reader := hs.Speak(ctx, h.Person)
	to, name, deleted := h.Desk, h.User(reader), m.Empty()
	if m.Room != asked {
		reader, to, name = hs.Speak(ctx, h.Asker), asked, h.As
		noted, isNote := strings.CutPrefix(m.Text, noteMark)
		if deleted = deleted || isNote; deleted {
			err = note(ctx, hs, asked, h, string(m.ID), noted)
		}
	}
	line := under(name, m)
	if deleted {
		line = "**" + text.Unmarked(name) + "**: " + lang.Say(reader, "person.deleted")
	}
	if err != nil {
		return talks, err
	}
	below, err := hs.Amend(ctx, to, h.key(string(m.ID)), func(was string) (string, bool) { return line, was != line })
	if err == nil && below {
		err = hs.Tell(ctx, chat.Notice{To: chat.Address{Room: to}, Key: h.key(string(m.ID) + "/" + line), Text: "✏️ " + line})
	}
	if isGone(err) {
		err = nil
	}
	return talks, err
}

// stillThere reports whether the person of h may still answer. Otherwise the conversation waits for another one. It fails with the error of the store.
func (hs *Handovers) stillThere(ctx context.Context, room chat.RoomID, h Handover) (bool, error) {
	if strings.HasPrefix(string(h.Person), SignedIn) && (h.Waits.IsZero() || time.Since(h.Waits) < signedInTime) {
		return true, nil
	}
	may, err := hs.IsStaff(ctx, h.Person, chat.Address{})
	if err != nil {
		return false, err
	}
	blocked, err := hs.Blocked(ctx, h.Person, nil)
	if err != nil {
		return false, err
	}
	desk, err := hs.Store.Room(ctx, cmp.Or(h.Desk, room)) // Gone once the person has blocked the bot
	if may && !blocked && !desk.Gone {
		return true, err
	}
	return false, hs.release(ctx, room, h)
}

// release asks for another person, because that of h can't answer any more. It fails with the error of the store.
func (hs *Handovers) release(ctx context.Context, room chat.RoomID, h Handover) error {
	if err := hs.tellUser(ctx, room, h, "left", "person.left", "person", text.Unmarked(h.As)); err != nil {
		return err
	}
	next, err := hs.update(ctx, room, h, func(was *Handover) {
		*was = Handover{ID: h.ID + "+", Asker: h.Asker, Name: h.Name, Why: h.Why, Since: time.Now().UTC()}
	})
	if err != nil || next.Person != "" {
		return err
	}
	return hs.sendCards(ctx, room, next)
}

// vanished ends a conversation whose user is gone, and tells the person why. It fails with the error of the store.
func (hs *Handovers) vanished(ctx context.Context, room chat.RoomID, h Handover, why string) error {
	if h.Person != "" {
		if err := hs.tellPerson(ctx, h, "gone", why); err != nil {
			return err
		}
	}
	return hs.end(ctx, room, h)
}

// Cleared ends the talk in a room whose user deletes the conversation. It fails with the error of the store.
func (hs *Handovers) Cleared(ctx context.Context, room chat.RoomID) error {
	asked, h, err := hs.find(ctx, room)
	if err != nil || asked != room {
		return err
	}
	return hs.vanished(ctx, room, h, "person.gone")
}

// Check looks after all conversations, once: it sends cards that a crash has prevented, reminds persons who are silent, tells their users, and ends
// conversations of persons and users who are gone. Several processes can call it. It fails with the errors of the store, after trying all.
func (hs *Handovers) Check(ctx context.Context) error {
	all, err := hs.Open(ctx)
	for id, h := range all {
		err = errors.Join(err, hs.check(ctx, chat.RoomID(id), h))
	}
	return err
}

func (hs *Handovers) check(ctx context.Context, room chat.RoomID, h Handover) error {
	r, err := hs.Store.Room(ctx, room)
	blocked := false
	if err == nil {
		blocked, err = hs.Blocked(ctx, h.Asker, nil)
	}
	switch {
	case errors.Is(err, chat.ErrNotFound):
		return hs.vanished(ctx, room, h, "person.gone")
	case err != nil:
		return err
	case r.Gone:
		return hs.vanished(ctx, room, h, "person.unreachable")
	case blocked:
		return hs.vanished(ctx, room, h, "person.blocked")
	}
	waits := h.Waits
	if h.Person == "" {
		if !h.Told {
			return hs.sendCards(ctx, room, h)
		}
		waits = h.Since
	} else if may, err := hs.stillThere(ctx, room, h); err != nil || !may {
		return err
	}
	if waits.IsZero() || h.Late || time.Since(waits) < silence {
		return nil
	}
	what := "late/" + waits.UTC().Format(time.RFC3339)
	if h.Person == "" {
		err = hs.tellUser(ctx, room, h, what, "person.untaken")
		if staff, failed := hs.staffRooms(ctx, h.Asker); err == nil && failed == nil && len(staff) > 0 {
			err = chat.Unless(offerForm(hs.Speak(ctx, h.Asker), hs, h.Asker, room, h.key("leave")), chat.ErrNotFound)
		}
	} else if err = hs.tellPerson(ctx, h, what, "person.remind"); err == nil {
		err = hs.tellUser(ctx, room, h, what, "person.late", "person", text.Unmarked(h.As))
	}
	if err == nil {
		_, err = hs.update(ctx, room, h, func(h *Handover) { h.Late = true })
	}
	return err
}
