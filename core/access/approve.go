package access

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/core/chat"
	"parley/core/text"
	"parley/internal/lang"
)

// ApprovalHandler is the name of the handler of choices that owners make about access. It is stored with questions.
const ApprovalHandler = "let in"

// Approve gives access to the user with this code, and notifies them. It fails with [chat.ErrNotFound] if the code is
// unknown or has expired, and with the error of the store.
func (d *Pairing) Approve(ctx context.Context, code string) (chat.Person, error) {
	return Approve(ctx, d.Store, d.Tell, code)
}

// Approve notifies the user with this code, and then gives them access. It fails with [chat.ErrNotFound] if the code is
// unknown or has expired, and with the errors of tell and the store.
func Approve(ctx context.Context, store ApprovalStore, tell Tell, code string) (chat.Person, error) {
	k, err := waitsWith(ctx, store, code)
	if err != nil {
		return chat.Person{}, fmt.Errorf("approve the user with this code: %w", err)
	}
	who, err := store.Entity(ctx, k.ID)
	if chat.Unless(err, chat.ErrNotFound) != nil {
		return chat.Person{}, fmt.Errorf("read the language of %s: %w", k.ID, err)
	}
	k.Since = time.Now()
	err = tell(ctx, chat.Notice{To: chat.Address{Room: k.Address.Room}, Text: who.Voice().Say("pairing.welcome"), Key: requestKey(k, "welcome")})
	if err != nil && !errors.Is(err, chat.ErrNotFound) && !errors.Is(err, chat.ErrUnreached) {
		// before access is stored: then the request is gone, and could not be found again
		return chat.Person{}, fmt.Errorf("tell %s that they are approved: %w", k.ID, err)
	}
	return k.Person, store.Approve(ctx, k.Person)
}

// waitsWith finds the request with this code. It fails with [chat.ErrNotFound] if there is none, and with the error of
// the store.
func waitsWith(ctx context.Context, people ApprovalStore, code string) (who chat.PairingRequest, err error) {
	code, _ = codeIn(code)
	waiting, err := people.PairingRequests(ctx)
	if err != nil {
		return chat.PairingRequest{}, err
	}
	for _, k := range waiting { // all of them: the duration must not depend on the codes
		if k.ID != "" && subtle.ConstantTimeCompare([]byte(code), []byte(k.Code)) == 1 {
			who = k
		}
	}
	if who.ID == "" || code == "" {
		return chat.PairingRequest{}, chat.ErrNotFound
	}
	return who, nil
}

// requestKey returns the key of a notice about k, without its code: keys appear in logs.
func requestKey(k chat.PairingRequest, what string) string {
	return fmt.Sprintf("%s/%s/%d", what, k.ID, k.Ends.UnixNano())
}

// askOwners asks each reachable owner in their direct chat whether to approve k. If that fails, the code still works.
func (d *Pairing) askOwners(ctx context.Context, k chat.PairingRequest) {
	rooms, err := d.OwnersRooms(ctx)
	if err != nil {
		d.Log.Warn("can't find a chat to ask the owner for approval", "account", k.ID, "err", err)
	}
	for owner, room := range rooms {
		ctx := d.Speak(ctx, owner)
		err := d.Tell(ctx, chat.Notice{
			To: chat.Address{Room: room}, Key: requestKey(k, "knock"), Text: lang.Say(ctx, "pairing.ask", "user", k.Label(), "platform", k.Address.Connector),
			Ask: &chat.Question{
				Options: []string{lang.Say(ctx, "pairing.approve"), lang.Say(ctx, "pairing.deny")}, Approval: true, For: []chat.EntityID{owner}, Expires: k.Ends,
				Handler: ApprovalHandler, Payload: k.Code + " " + string(k.ID),
			},
		})
		if err != nil {
			d.Log.Warn("can't ask the owner for approval", "account", k.ID, "err", err)
		}
	}
}

// OwnersRooms returns the known direct chats of the owners. It fails with the error of the store.
func (d *Pairing) OwnersRooms(ctx context.Context) (map[chat.EntityID]chat.RoomID, error) {
	rooms := map[chat.EntityID]chat.RoomID{}
	for id := range d.Policy.Owners {
		room, err := d.Store.DirectRoom(ctx, id)
		if err == nil {
			rooms[id] = room.ID
		} else if !errors.Is(err, chat.ErrNotFound) {
			return rooms, err
		}
	}
	if len(d.Policy.Owners) > 0 {
		return rooms, nil
	}
	owner, err := d.Store.Owner(ctx)
	if err == nil {
		rooms[owner.ID] = owner.Address.Room
	}
	return rooms, chat.Unless(err, chat.ErrNotFound)
}

// StaffRooms returns the known direct chats of the owners and the staff. It fails with the error of the store.
func (d *Pairing) StaffRooms(ctx context.Context) (map[chat.EntityID]chat.RoomID, error) {
	rooms, err := d.OwnersRooms(ctx)
	if err != nil {
		return nil, err
	}
	staff, err := d.Staff(ctx)
	for id := range staff {
		if _, owns := rooms[id]; owns || err != nil {
			continue
		}
		var room chat.Room
		if room, err = d.Store.DirectRoom(ctx, id); err == nil {
			rooms[id] = room.ID
		}
		err = chat.Unless(err, chat.ErrNotFound)
	}
	return rooms, err
}

// Name returns the name of a user, or their account without one. The operator is the team.
func (d *Pairing) Name(ctx context.Context, user chat.EntityID) string {
	if user != "" && user == d.Policy.Operator {
		return lang.Say(ctx, "person.team")
	}
	e, _ := d.Store.Entity(ctx, user) // after an error it has no name
	return cmp.Or(e.Name(), user.Account())
}

// Speak returns ctx for the sentences to a user, see [Speak].
func (d *Pairing) Speak(ctx context.Context, user chat.EntityID) context.Context {
	return Speak(ctx, d.Store, user, d.Log)
}

// TellOwners sends a sentence to the owners in their direct chats, once for each key: one of package lang with its
// placeholders, in the language of each owner, or a text. It fails with the error of Tell or the store.
func (d *Pairing) TellOwners(ctx context.Context, key, sentence string, pairs ...any) error {
	rooms, err := d.OwnersRooms(ctx)
	for owner, room := range rooms {
		text := lang.Say(d.Speak(ctx, owner), sentence, pairs...)
		err = errors.Join(err, d.Tell(ctx, chat.Notice{To: chat.Address{Room: room}, Key: key, Text: text}))
	}
	if err != nil {
		return fmt.Errorf("tell the owners: %w", err)
	}
	return nil
}

// PassOn sends a visitor's message to the owners, with the address for their reply, as TellOwners does. It fails with
// [chat.ErrUnreached] if no owner's direct chat is known. The visitor's words are marked as those of others.
func (d *Pairing) PassOn(ctx context.Context, key, replyTo, said string) error {
	switch rooms, err := d.OwnersRooms(ctx); {
	case err != nil:
		return fmt.Errorf("find the owners: %w", err)
	case len(rooms) == 0:
		return chat.ErrUnreached
	}
	return d.TellOwners(ctx, key, "owner.contact", "address", asCode(replyTo), "text", text.Quote(said))
}

const mostAddress = 200 // characters of an address for a reply

// asCode returns an address as it was written, for sentences that have it between backquotes.
func asCode(address string) string {
	return text.OneLine(strings.ReplaceAll(address, "`", ""), mostAddress)
}

// TellUnconfirmed tells the owners that answers may not have arrived, once an hour: an outage can concern many chats.
// It fails like TellOwners.
func (d *Pairing) TellUnconfirmed(ctx context.Context) error {
	return d.TellOwners(ctx, "unconfirmed/"+time.Now().UTC().Format("2006-01-02T15"), "owner.unconfirmed")
}

// Chosen carries out an owner's decision about a user who asks for access, and returns the reply to the owner. The
// payload of q is the user's code and account. It fails with [chat.Refused], and with the error of the store.
func (d *Pairing) Chosen(ctx context.Context, q chat.Question) (string, error) {
	if owns, err := d.Owns(ctx, q.By); err != nil || !owns {
		return "", chat.Refuse(lang.Say(ctx, "choice.not_yours"), err) // any more
	}
	code, id, _ := strings.Cut(q.Payload, " ")
	var p chat.Person
	var err error
	if q.Choice == 0 {
		p, err = d.Approve(ctx, code)
	} else {
		err = d.Store.Reject(ctx, code)
	}
	done := err == nil
	if errors.Is(err, chat.ErrNotFound) { // this was done before, or another owner was faster
		p, err = d.Store.Person(ctx, chat.EntityID(id))
	}
	switch {
	case chat.Unless(err, chat.ErrNotFound) != nil:
		return "", err
	case q.Choice != 0 && (done || err != nil):
		return lang.Say(ctx, "pairing.away"), nil
	case q.Choice != 0:
		return "", chat.Refused(lang.Say(ctx, "pairing.inside", "user", p.Label()))
	case err != nil:
		return "", chat.Refused(lang.Say(ctx, "choice.closed"))
	}
	return lang.Say(ctx, "pairing.approved", "user", p.Label()), nil
}
