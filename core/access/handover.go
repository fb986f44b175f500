package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"parley/core/chat"
	"parley/core/llm"
	"parley/core/text"
	"parley/internal/lang"
)

// HandoverHandler is the name of the handler of the buttons on cards about conversations. It is stored with questions.
const HandoverHandler = "handover"

const (
	handoversName = "handovers"    // the name of the stored list
	mostHandovers = 500            // conversations in it
	cardTime      = 24 * time.Hour // until a card expires
	cardLines     = 8              // messages on a card
	cardLine      = 300            // characters of each
	silence       = 10 * time.Minute
	noteMark      = "//"      // begins a note, which stays with the staff
	talkKey       = "person/" // begins the keys of notices
)

// Handover is the record of a conversation whose user asked for a person, or talks to one. A conversation without a record is the agent's.
type Handover struct {
	ID     string        `json:"id"` // of the request, in the keys of its notices: each is sent once
	Asker  chat.EntityID `json:"asker"`
	Name   string        `json:"name"` // of the asker; empty: a visitor without a name
	Why    string        `json:"why,omitempty"`
	Told   bool          `json:"told,omitempty"`   // the cards were sent
	Person chat.EntityID `json:"person,omitempty"` // who took over; empty while the user waits
	As     string        `json:"as,omitempty"`     // the name of that person
	Desk   chat.RoomID   `json:"desk,omitempty"`   // the direct chat of that person; empty: they write on the operator's page
	Since  time.Time     `json:"since"`            // of the present state
	Waits  time.Time     `json:"waits,omitzero"`   // since when the user has been waiting for a reply of the person
	Late   bool          `json:"late,omitempty"`   // the user was told about the delay
}

// HandoverStore contains the store methods of [Handovers].
type HandoverStore interface {
	DirectRoom(ctx context.Context, author chat.EntityID) (chat.Room, error)
	Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
	Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
	SaveNote(ctx context.Context, n chat.RoomNote) error
}

// Handovers passes conversations from the agent to persons and back. The state of each is stored before anything is said about it, and every
// sentence is a notice with a key: after a crash it is said by whatever repeats the step, and once.
//
// Its fields are set before use. It is safe for concurrent use, also by several processes with one store.
type Handovers struct {
	*Pairing
	Store HandoverStore
	Agent chat.EntityID
	// Copy stores copies of the files of a message for a notice, as far as they can be read; nil: files are only named.
	Copy func(ctx context.Context, from, to chat.Memory) []chat.Attachment
	// Save stores the files of a message from the operator's page.
	Save func(ctx context.Context, of chat.Memory, files []llm.File) ([]chat.Attachment, error)
	Zone *time.Location // of Policy.Hours; nil is UTC
	// Draft asks the agent for an answer to the last messages of a room, which it does not store, at the expense of an account.
	Draft func(ctx context.Context, room chat.RoomID, payer chat.EntityID) (string, error)
	// Page reports whether a user of the operator's page is logged in; nil: there is no page.
	Page func(ctx context.Context) (bool, error)
	// Stop ends the answers in progress in a room.
	Stop func(ctx context.Context, room chat.RoomID, upTo chat.ResponseID) error
	// Amend and Close are those of [consent.Approvals].
	Amend func(ctx context.Context, room chat.RoomID, key string, add func(card string) (string, bool)) (below bool, err error)
	Close func(ctx context.Context, room chat.RoomID, key string) error
	// Withdraw closes the question of the notice with key in room in the store alone, and reports whether it was answered before: its message then
	// belongs to the result.
	Withdraw func(ctx context.Context, room chat.RoomID, key string) (answered bool, err error)
	Log      *slog.Logger

	open lists[Handover] // by room
}

func (h Handover) key(what string) string { return talkKey + h.ID + "/" + what }

// User returns the name of the asker, as the reader of ctx reads it.
func (h Handover) User(ctx context.Context) string {
	return cmp.Or(h.Name, lang.Say(ctx, "person.visitor"))
}

// errUnchanged ends a change of the list that has nothing to do.
var errUnchanged = errors.New("unchanged")

// change stores the record of a room that do returns, or removes it if that is zero. It fails with the errors of do and of the store.
func (hs *Handovers) change(ctx context.Context, room chat.RoomID, do func(Handover, map[chat.EntityID]Handover) (Handover, error)) (now Handover, err error) {
	err = hs.open.change(ctx, hs.Memo, handoversName, func(all map[chat.EntityID]Handover) (err error) {
		if now, err = do(all[chat.EntityID(room)], all); err != nil {
			return err
		}
		delete(all, chat.EntityID(room))
		if now.ID != "" {
			all[chat.EntityID(room)] = now
		}
		return nil
	})
	if errors.Is(err, errUnchanged) {
		err = nil
	}
	return now, err
}

// update changes the record of a room if it is still h. It fails with the error of the store.
func (hs *Handovers) update(ctx context.Context, room chat.RoomID, h Handover, do func(*Handover)) (Handover, error) {
	return hs.change(ctx, room, func(was Handover, _ map[chat.EntityID]Handover) (Handover, error) {
		if was.ID != h.ID || was.Person != h.Person {
			return was, errUnchanged
		}
		do(&was)
		return was, nil
	})
}

// Open returns the conversations whose users wait for a person or talk to one, by room; they must not be changed. It fails with the error of the store.
func (hs *Handovers) Open(ctx context.Context) (map[chat.EntityID]Handover, error) {
	if hs == nil || hs.Memo == nil {
		return nil, nil
	}
	l, err := hs.open.read(ctx, hs.Memo, handoversName)
	if err != nil {
		return nil, err
	}
	return l.all, nil
}

// find returns the conversation that is in room, or whose person writes in room; "" if there is none. It fails with the error of the store.
func (hs *Handovers) find(ctx context.Context, room chat.RoomID) (asked chat.RoomID, h Handover, err error) {
	all, err := hs.Open(ctx)
	if err != nil || len(all) == 0 {
		return "", h, err
	}
	if h, ok := all[chat.EntityID(room)]; ok {
		return room, h, err
	}
	for id, h := range all {
		if h.Desk == room && h.Person != "" {
			return chat.RoomID(id), h, err
		}
	}
	return "", h, err
}

// sendCards tells each member of the staff about a user who waits. It fails with the error of the store.
func (hs *Handovers) sendCards(ctx context.Context, room chat.RoomID, h Handover) error {
	staff, err := hs.staffRooms(ctx, h.Asker)
	if err != nil {
		return err
	}
	r, err := hs.Store.Room(ctx, room)
	if err != nil {
		return chat.Unless(err, chat.ErrNotFound)
	}
	for id, desk := range staff {
		ctx := hs.Speak(ctx, id)
		last, err := hs.lastMessages(ctx, room, h.User(ctx))
		if err != nil {
			return err
		}
		card := lang.Say(ctx, "person.card", "user", text.Unmarked(h.User(ctx)), "platform", r.Address.Connector)
		if why := h.Reason(ctx); why != "" {
			card += "\n“" + text.Unmarked(why) + "”"
		}
		err = hs.Tell(ctx, chat.Notice{
			To: chat.Address{Room: desk}, Key: h.key("card"), Text: chat.JoinParagraphs(card, last),
			Ask: hs.button(lang.Say(ctx, "person.take"), id, room, h),
		})
		if err != nil && !errors.Is(err, chat.ErrNotFound) && !errors.Is(err, chat.ErrUnreached) {
			return err
		}
	}
	_, err = hs.update(ctx, room, h, func(h *Handover) { h.Told = true })
	return err
}

// button returns a question with one button.
func (hs *Handovers) button(label string, who chat.EntityID, room chat.RoomID, h Handover) *chat.Question {
	return &chat.Question{
		Options: []string{label}, For: []chat.EntityID{who}, Expires: time.Now().Add(cardTime), Handler: HandoverHandler, Payload: h.ID + " " + string(room),
	}
}

// lastMessages quotes the last messages of a room. Visitors without a name have that of the asker. It fails with the error of the store.
func (hs *Handovers) lastMessages(ctx context.Context, room chat.RoomID, asker string) (string, error) {
	recent, err := hs.Store.Recent(ctx, room, chat.Said, 0, cardLines)
	var lines []string
	for _, m := range recent {
		as, said := m.ByPerson()
		lines = append(lines, "**"+text.Unmarked(cmp.Or(as, text.Label(m.Name), asker))+"**: "+text.Unmarked(text.OneLine(said, cardLine)))
	}
	return strings.Join(lines, "\n"), err
}

// Name implements [action.ChoiceHandler].
func (*Handovers) Name() string { return HandoverHandler }

// Chosen implements [action.ChoiceHandler]: the user takes a conversation over, or hands it back. It fails with [chat.Refused], such as if another
// person was faster, and with the error of the store.
func (hs *Handovers) Chosen(ctx context.Context, q chat.Question) (string, error) {
	if len(q.Fields) > 0 {
		return hs.leave(ctx, q)
	}
	id, payload, _ := strings.Cut(q.Payload, " ")
	room := chat.RoomID(payload)
	if lang.Is("person.back", q.Options[q.Choice]) {
		asked, h, err := hs.find(ctx, room)
		if err != nil || h.ID != id || h.Person != q.By {
			return "", chat.Refuse(lang.Say(ctx, "choice.closed"), err)
		}
		return hs.back(ctx, q.Room, asked, h)
	}
	if room, draft, is := strings.Cut(payload, " "); is {
		return "", useDraft(ctx, hs, chat.RoomID(room), q, draft)
	}
	if staff, err := hs.IsStaff(ctx, q.By, chat.Address{}); err != nil || !staff {
		return "", chat.Refuse(lang.Say(ctx, "choice.not_yours"), err)
	}
	return "", chat.Refuse(hs.take(ctx, room, id, chat.Person{ID: q.By, Name: q.Name}, q.Room))
}

// take gives the conversation of the request id to a person, who writes in the direct chat desk, or on the operator's page if that is empty. It
// returns the reason for a refusal. It fails with the error of the store.
func (hs *Handovers) take(ctx context.Context, room chat.RoomID, id string, by chat.Person, desk chat.RoomID) (refused string, err error) {
	var own Handover // the request of the person, which ends: their words here would go to its other side
	h, err := hs.change(ctx, room, func(was Handover, all map[chat.EntityID]Handover) (Handover, error) {
		refused, own = "", all[chat.EntityID(desk)]
		if own.Person != "" {
			refused = lang.Say(ctx, "person.busy", "user", text.Unmarked(own.As))
		}
		for other, h := range all {
			if desk != "" && h.Desk == desk && h.Person != "" && other != chat.EntityID(room) {
				refused = lang.Say(ctx, "person.busy", "user", text.Unmarked(h.User(ctx)))
			}
		}
		switch {
		case was.ID != id:
			refused = lang.Say(ctx, "choice.closed")
		case was.Person != "" && (was.Person != by.ID || was.Desk != desk):
			refused = lang.Say(ctx, "person.taken", "person", text.Unmarked(was.As))
		}
		if refused != "" || was.Person != "" {
			return was, errUnchanged
		}
		delete(all, chat.EntityID(desk))
		was.Person, was.As, was.Desk, was.Since, was.Waits, was.Late = by.ID, text.Label(by.Name), desk, time.Now().UTC(), time.Now().UTC(), false
		return was, nil
	})
	if err != nil || refused != "" {
		return refused, err
	}
	if own.ID != "" {
		hs.closeCards(ctx, own, "person.returned")
	}
	return "", hs.took(ctx, room, h)
}

// took tells everyone about a conversation that was taken over. It fails with the error of the store.
func (hs *Handovers) took(ctx context.Context, room chat.RoomID, h Handover) error {
	if err := hs.Stop(ctx, room, chat.EveryTurn); err != nil {
		return err
	}
	if err := hs.tellUser(ctx, room, h, "taken", "person.joined", "person", text.Unmarked(h.As)); err != nil {
		return err
	}
	if hs.Audit != nil && h.Desk != "" { // the operator's page records its forms itself
		hs.Audit(ctx, h.Person, "take over", string(room))
	}
	hs.closeCards(ctx, h, "person.taken")
	if h.Desk == "" {
		return nil
	}
	return hs.Tell(ctx, chat.Notice{
		To: chat.Address{Room: h.Desk}, Key: h.key("desk"), Text: lang.Say(ctx, "person.desk", "user", text.Unmarked(h.User(ctx))),
		Ask: hs.button(lang.Say(ctx, "person.back"), h.Person, room, h),
	})
}

// closeCards adds a sentence to the cards of the others, in the language of each, and removes their buttons. A failure is logged: the buttons say the same.
func (hs *Handovers) closeCards(ctx context.Context, h Handover, sentence string) {
	staff, err := hs.staffRooms(ctx, h.Asker)
	for id, desk := range staff {
		if id == h.Person && h.Desk != "" {
			continue
		}
		line := lang.Say(hs.Speak(ctx, id), sentence, "person", text.Unmarked(h.As))
		pressed, failed := hs.Withdraw(ctx, desk, h.key("card"))
		below := false
		if !pressed && failed == nil { // otherwise the press says who was faster
			below, failed = hs.Amend(ctx, desk, h.key("card"), func(card string) (string, bool) { // without the button, which is withdrawn
				return card + "\n\n" + line, !strings.HasSuffix(card, line)
			})
		}
		if below {
			failed = errors.Join(failed, hs.Close(ctx, desk, h.key("card")))
		}
		err = errors.Join(err, failed)
	}
	if err != nil {
		hs.Log.Warn("a card about a conversation can't be closed", "err", err)
	}
}

// tellUser says a sentence to the user of a conversation, in their language. It fails with the error of the store; a room that is gone is none.
func (hs *Handovers) tellUser(ctx context.Context, room chat.RoomID, h Handover, what, sentence string, pairs ...any) error {
	return hs.tell(ctx, h.Asker, room, h.key(what), sentence, pairs...)
}

// tellPerson says a sentence about the user of a conversation to its person, in that person's language. It fails like tell.
func (hs *Handovers) tellPerson(ctx context.Context, h Handover, what, sentence string) error {
	return hs.tell(ctx, h.Person, h.Desk, h.key(what), sentence, "user", text.Unmarked(h.User(hs.Speak(ctx, h.Person))))
}

// tell says a sentence in a room. The operator's page, which is no room, shows the state itself.
func (hs *Handovers) tell(ctx context.Context, who chat.EntityID, room chat.RoomID, key, sentence string, pairs ...any) error {
	if room == "" {
		return nil
	}
	err := hs.Tell(ctx, chat.Notice{To: chat.Address{Room: room}, Key: key, Text: lang.Say(hs.Speak(ctx, who), sentence, pairs...)})
	if isGone(err) {
		return nil
	}
	return err
}

// isGone reports whether an error means that a room can't be written to any more.
func isGone(err error) bool {
	return errors.Is(err, chat.ErrNotFound) || errors.Is(err, chat.ErrUnreached)
}

// back gives a conversation back to the agent, and returns the reply to the side that wrote in the room here, which is "" for the operator's page.
// The others are told before the record is removed. It fails with the error of the store.
func (hs *Handovers) back(ctx context.Context, here, asked chat.RoomID, h Handover) (said string, err error) {
	said = lang.Say(ctx, "person.handed", "user", text.Unmarked(h.User(ctx)))
	if here == asked {
		said = lang.Say(ctx, "person.returned")
	} else {
		err = hs.tellUser(ctx, asked, h, "back", "person.returned")
	}
	if err == nil && h.Person != "" && here != h.Desk {
		err = hs.tellPerson(ctx, h, "back", "person.ended")
	}
	if err == nil {
		err = hs.end(ctx, asked, h)
	}
	return said, err
}

// end removes a record, with its buttons. It fails with the error of the store.
func (hs *Handovers) end(ctx context.Context, asked chat.RoomID, h Handover) error {
	if h.Person == "" {
		hs.closeCards(ctx, h, "person.returned")
	} else if h.Desk != "" {
		if err := hs.Close(ctx, h.Desk, h.key("desk")); err != nil {
			hs.Log.Warn("a button about a conversation can't be removed", "err", err)
		}
	}
	_, err := hs.update(ctx, asked, h, func(h *Handover) { *h = Handover{} })
	if err != nil {
		return fmt.Errorf("end the talk of %s: %w", asked, err)
	}
	return nil
}
