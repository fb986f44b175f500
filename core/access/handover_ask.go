package access

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"parley/core/chat"
	"parley/core/text"
	"parley/internal/lang"
)

// Suggest executes "/person suggest" of a person who talks to a user: it returns a draft of the agent, with the question what to do with it. The
// question is nil if there is no such talk: then the reply is that of Command. It fails with the error of the model or the store.
func (hs *Handovers) Suggest(ctx context.Context, m chat.Memory) (draft string, ask *chat.Question, err error) {
	asked, h, err := hs.find(ctx, m.Room)
	switch {
	case err == nil && m.Room == asked && h.Person != "":
		return lang.Say(ctx, "person.here", "person", h.As), nil, nil
	case err != nil || asked == "" || h.Person != m.Author || m.Room == asked:
		return lang.Say(ctx, "person.nothing"), nil, err
	}
	if draft, err = hs.Draft(ctx, asked, m.Author); err != nil || draft == "" {
		return lang.Say(ctx, "hold.unsent"), nil, err
	}
	ask = hs.button(lang.Say(ctx, "hold.send"), m.Author, asked, h)
	ask.Options = append(ask.Options, lang.Say(ctx, "hold.discard"))
	ask.Payload += " " + draft
	return draft, ask, nil
}

// useDraft sends a draft to the user of a room under the name of the person, if that was chosen. It fails with [chat.Refused] if the person does not
// talk to them any more, and with the error of the store.
func useDraft(ctx context.Context, hs *Handovers, room chat.RoomID, q chat.Question, draft string) error {
	if q.Choice != 0 {
		return nil
	}
	_, h, err := hs.find(ctx, room)
	if id, _, _ := strings.Cut(q.Payload, " "); err != nil || h.ID != id || h.Person != q.By {
		return chat.Refuse(lang.Say(ctx, "choice.closed"), err)
	}
	n := chat.Notice{To: chat.Address{Room: room}, Key: h.key("draft/" + q.ID), Text: under(h.As, chat.Memory{Text: draft})}
	return hs.reply(ctx, room, h, hs.Tell(ctx, n))
}

// Command executes /person: it asks for a person, or ends that with the word "back". It returns the reply, with the question of Ask. It fails with the
// error of the store.
func (hs *Handovers) Command(ctx context.Context, m chat.Memory, argument string) (reply string, ask *chat.Question, err error) {
	asked, h, err := hs.find(ctx, m.Room)
	if err != nil || hs.Memo == nil {
		return lang.Say(ctx, "turn.off"), nil, err
	}
	switch {
	case asked != "" && (strings.EqualFold(argument, "back") || asked != m.Room && argument == ""):
		reply, err = hs.back(ctx, m.Room, asked, h)
		return reply, nil, err
	case asked != "" && asked != m.Room: // a word that was misspelled must not end the talk
		return lang.Say(ctx, "person.desk", "user", text.Unmarked(h.User(ctx))), nil, nil
	case strings.EqualFold(argument, "back"):
		return lang.Say(ctx, "person.nothing"), nil, nil
	}
	return hs.Ask(ctx, m, argument)
}

// Failing is the reason of a request after failed answers. It is a sentence of the catalog: each reader gets it in their language.
const Failing = "person.failing"

// Reason returns the reason of the request; "" if there is none.
func (h Handover) Reason(ctx context.Context) string {
	if h.Why == Failing {
		return lang.Say(ctx, Failing)
	}
	return h.Why
}

// Ask asks for a person on behalf of the author of m. It returns the reply, with a form that leaves a message if no one is there; otherwise the question
// is nil. It fails with the error of the store.
func (hs *Handovers) Ask(ctx context.Context, m chat.Memory, why string) (reply string, ask *chat.Question, err error) {
	room, err := hs.Store.Room(ctx, m.Room)
	if err != nil {
		return "", nil, err
	}
	staff, err := hs.staffRooms(ctx, m.Author)
	onPage, now := false, time.Now().In(cmp.Or(hs.Zone, time.UTC))
	if err == nil && len(staff) == 0 && hs.Page != nil {
		onPage, err = hs.Page(ctx)
	}
	switch {
	case err != nil:
		return "", nil, err
	case !room.Kind.Private():
		return lang.Say(ctx, "person.direct"), nil, nil
	case !hs.Policy.within(now) && (len(staff) > 0 || onPage):
		reply = lang.Say(ctx, "person.closed", "hours", hs.Policy.hours(lang.Of(ctx)), "zone", now.Format("MST"))
		if why == Failing { // a failed answer can't ask
			return reply, nil, offerForm(ctx, hs, m.Author, m.Room, "leave/"+string(m.ID))
		}
		ask, asks := leaveForm(ctx, m.Author)
		return chat.JoinParagraphs(reply, asks), ask, nil
	case len(staff) == 0 && !onPage:
		return lang.Say(ctx, "person.none"), nil, nil
	}
	h, err := hs.request(ctx, m, text.OneLine(why, cardLine), false)
	switch {
	case err != nil:
		return "", nil, err
	case h.ID == "":
		return lang.Say(ctx, "person.none"), nil, nil
	case h.Person != "":
		return lang.Say(ctx, "person.here", "person", h.As), nil, nil
	}
	return lang.Say(ctx, "person.asked"), nil, hs.sendCards(ctx, m.Room, h)
}

// request records that the author of m asks for a person, unless they have. A reason that they left as a message replaces an earlier one, and is not
// followed by a word that no one has come. The record is zero if there are too many. It fails with the error of the store.
func (hs *Handovers) request(ctx context.Context, m chat.Memory, why string, left bool) (Handover, error) {
	return hs.change(ctx, m.Room, func(was Handover, all map[chat.EntityID]Handover) (Handover, error) {
		if was.ID != "" && !left || was.ID == "" && len(all) >= mostHandovers {
			return was, errUnchanged
		}
		if was.ID == "" {
			was = Handover{ID: rand.Text(), Asker: m.Author, Name: text.Label(m.Name), Since: time.Now().UTC(), Late: left}
		}
		was.Why = why
		return was, nil
	})
}

// staffRooms returns the accounts of owners and staff with their direct chats, as far as these are known, without those of asker. It fails with
// the error of the store.
func (hs *Handovers) staffRooms(ctx context.Context, asker chat.EntityID) (map[chat.EntityID]chat.RoomID, error) {
	rooms, err := hs.OwnersRooms(ctx)
	if err != nil {
		return nil, err
	}
	staff, err := hs.Staff(ctx)
	if err != nil {
		return nil, err
	}
	for id := range staff {
		room, err := hs.Store.DirectRoom(ctx, id)
		if err == nil {
			rooms[id] = room.ID
		} else if !errors.Is(err, chat.ErrNotFound) {
			return nil, err
		}
	}
	delete(rooms, asker)
	return rooms, nil
}
