package access

import (
	"cmp"
	"context"
	"time"

	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/lang"
)

// SignedIn begins the ids of persons who have no account on a platform: the provider of the operator's page names them. Their role is checked with
// each of their requests; a user who has waited for one of them for an hour gets another person.
const SignedIn = "oidc:"

const signedInTime = time.Hour

// PageMessage is a message, or a note for the staff, of a person on the operator's page.
type PageMessage struct {
	Key   string // the same for the same form
	By    chat.EntityID
	Text  string
	Files []llm.File
	Note  bool
}

// byID returns the conversation of a request. It fails with [chat.ErrNotFound] if the request has ended, and with the error of the store.
func byID(ctx context.Context, hs *Handovers, id string) (chat.RoomID, Handover, error) {
	all, err := hs.Open(ctx)
	for room, h := range all {
		if h.ID == id {
			return chat.RoomID(room), h, err
		}
	}
	return "", Handover{}, cmp.Or(err, chat.ErrNotFound)
}

// Return gives the conversation of the request id back to the agent, for the operator's page, and returns the result. It fails like byID.
func (hs *Handovers) Return(ctx context.Context, id string) (string, error) {
	room, h, err := byID(ctx, hs, id)
	if err != nil {
		return "", err
	}
	return hs.back(ctx, "", room, h)
}

// TakeOver gives the conversation of the request id to a user of the operator's page, as the button of a card does, and returns the reason for a
// refusal. A user without an account is the operator. It fails like byID.
func (hs *Handovers) TakeOver(ctx context.Context, id string, by chat.Person) (refused string, err error) {
	room, h, err := byID(ctx, hs, id)
	if err != nil {
		return "", err
	}
	by.ID = cmp.Or(by.ID, hs.Policy.Operator)
	by.Name = cmp.Or(by.Name, lang.Say(hs.Speak(ctx, h.Asker), "person.team"))
	return hs.take(ctx, room, id, by, "")
}

// Write sends a message of the operator's page to the user of the request id, once for each key, or stores it as a note. It fails with
// [chat.ErrNotFound] if the person does not talk to the user, and with the error of the store.
func (hs *Handovers) Write(ctx context.Context, id string, m PageMessage) error {
	room, h, err := byID(ctx, hs, id)
	if err != nil {
		return err
	}
	if h.Person != cmp.Or(m.By, hs.Policy.Operator) {
		return chat.ErrNotFound
	}
	if m.Note {
		return note(ctx, hs, room, h, m.Key, m.Text)
	}
	said := chat.Memory{Text: m.Text}
	n := chat.Notice{To: chat.Address{Room: room}, Key: h.key("page/" + m.Key)}
	if len(m.Files) > 0 {
		of := chat.Memory{ID: chat.NoticeID(room, n.Key), Room: room, Author: hs.Agent}
		if n.Files, err = hs.Save(ctx, of, m.Files); err != nil {
			return err
		}
		said.Files = n.Files
	}
	n.Text = under(h.As, said)
	return hs.reply(ctx, room, h, hs.Tell(ctx, n))
}

// DraftFor returns a draft of the agent for the user of the request id. by must be their person, on the operator's page. It fails like Write, and with the
// error of the model.
func (hs *Handovers) DraftFor(ctx context.Context, id string, by chat.EntityID) (string, error) {
	room, h, err := byID(ctx, hs, id)
	if err != nil {
		return "", err
	}
	if by = cmp.Or(by, hs.Policy.Operator); h.Person != by {
		return "", chat.ErrNotFound
	}
	return hs.Draft(ctx, room, by)
}
