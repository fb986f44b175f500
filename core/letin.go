package core

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/core/chat"
)

// What the owner is asked at the door and told of it, and what a newcomer hears.
const (
	askLine     = "%s would like to talk to me on %s. Approve?"
	letInLine   = "%s can now talk to me."
	inLine      = "%s already has access; revoke it with `gateway pair --remove` on the machine that runs me."
	awayLine    = "Okay, I won't reply to them."
	welcomeLine = "My owner approved you. You can talk to me now."
)

// Approve lets in who was told code. They are told so in the agent's name, by the runtime of store, or the next one.
// [chat.ErrNotFound] if the code is unknown or has expired.
func Approve(ctx context.Context, store Store, agent chat.Agent, code string) (chat.Person, error) {
	k, err := waitsWith(ctx, store, code)
	if err != nil {
		return chat.Person{}, fmt.Errorf("approve the user with this code: %w", err)
	}
	k.Since = time.Now()
	if err := welcome(ctx, store, agent, k); err != nil { // first: who is in knocks no more, and is not found again
		return chat.Person{}, fmt.Errorf("tell %s that they are approved: %w", k.ID, err)
	}
	return k.Person, store.LetIn(ctx, k.Person)
}

// Approve lets in who was told code, and tells them. [chat.ErrNotFound] if the code is unknown or has expired.
func (rt *Runtime) Approve(ctx context.Context, code string) (chat.Person, error) {
	p, err := Approve(ctx, rt.cfg.Store, rt.cfg.Agent, code)
	if err == nil {
		rt.scheduler.wake(p.Address.Room)
	}
	return p, err
}

// waitsWith finds the stranger who was told code.
func waitsWith(ctx context.Context, people People, code string) (who chat.PairingRequest, err error) {
	code, _ = codeIn(code)
	waiting, err := people.Knocks(ctx)
	if err != nil {
		return chat.PairingRequest{}, err
	}
	for _, k := range waiting { // all of them: how long it takes says nothing of the codes
		if k.ID != "" && subtle.ConstantTimeCompare([]byte(code), []byte(k.Code)) == 1 {
			who = k
		}
	}
	if who.ID == "" || code == "" {
		return chat.PairingRequest{}, chat.ErrNotFound
	}
	return who, nil
}

// welcome tells k once that they are in, if they can be reached.
func welcome(ctx context.Context, store Store, agent chat.Agent, k chat.PairingRequest) error {
	m, err := draft(ctx, store, agent, chat.Notice{To: chat.Address{Room: k.Address.Room}, Text: welcomeLine, Key: requestKey(k, "welcome")})
	if errors.Is(err, chat.ErrNotFound) || errors.Is(err, chat.ErrUnreached) {
		return nil
	} else if err != nil {
		return err
	}
	_, err = store.Accept(ctx, m, chat.JoinRule{Kind: chat.RunNotify})
	return err
}

// requestKey names what is said of k, without its code: keys are seen in logs.
func requestKey(k chat.PairingRequest, what string) string {
	return fmt.Sprintf("%s/%s/%d", what, k.ID, k.Ends.UnixNano())
}

// askOwners asks each owner, where they can be reached in private, whether to let k in. If that fails there is still the
// code.
func (d *pairing) askOwners(ctx context.Context, k chat.PairingRequest) {
	rooms, err := d.ownersRooms(ctx)
	if err != nil {
		d.rt.cfg.Log.Warn("can't find a chat to ask the owner for approval", "account", k.ID, "err", err)
	}
	for owner, room := range rooms {
		_, err := d.rt.Say(ctx, chat.Notice{
			To: chat.Address{Room: room}, Key: requestKey(k, "knock"), Text: fmt.Sprintf(askLine, k.Label(), k.Address.Connector),
			Ask: &chat.Question{
				Options: []string{"Approve", "No"}, For: []chat.EntityID{owner}, Expires: k.Ends,
				Chooser: letIn, Payload: k.Code + " " + string(k.ID),
			},
		})
		if err != nil {
			d.rt.cfg.Log.Warn("can't ask the owner for approval", "account", k.ID, "err", err)
		}
	}
}

// ownersRooms are the direct chats of those who can let others in, as far as they are known.
func (d *pairing) ownersRooms(ctx context.Context) (map[chat.EntityID]chat.RoomID, error) {
	rooms := map[chat.EntityID]chat.RoomID{}
	for id := range d.rt.cfg.Access.Owners {
		room, err := d.rt.cfg.Store.DirectRoom(ctx, id)
		if err == nil {
			rooms[id] = room.ID
		} else if !errors.Is(err, chat.ErrNotFound) {
			return rooms, err
		}
	}
	if len(d.rt.cfg.Access.Owners) > 0 {
		return rooms, nil
	}
	owner, err := d.rt.cfg.Store.Owner(ctx)
	if err == nil {
		rooms[owner.ID] = owner.Address.Room
	}
	return rooms, ignore(err, chat.ErrNotFound)
}

const letIn = "let in"

// approvalHandler does what an owner chose for a user who asks for access. The payload is their code and account.
type approvalHandler struct{ rt *Runtime }

func (approvalHandler) Name() string { return letIn }

func (d approvalHandler) Chosen(ctx context.Context, q chat.Question) (string, error) {
	if owns, err := d.rt.pairing.owns(ctx, q.By); err != nil || !owns {
		return notYours, err // any more
	}
	code, id, _ := strings.Cut(q.Payload, " ")
	var p chat.Person
	var err error
	if q.Choice == 0 {
		p, err = d.rt.Approve(ctx, code)
	} else {
		err = d.rt.cfg.Store.TurnAway(ctx, code)
	}
	done := err == nil
	if errors.Is(err, chat.ErrNotFound) { // this was done before, or another owner was faster
		p, err = d.rt.cfg.Store.Person(ctx, chat.EntityID(id))
	}
	switch {
	case ignore(err, chat.ErrNotFound) != nil:
		return "", err
	case q.Choice != 0 && (done || err != nil):
		return awayLine, nil
	case q.Choice != 0:
		return fmt.Sprintf(inLine, p.Label()), nil
	case err != nil:
		return overNow, nil
	}
	return fmt.Sprintf(letInLine, p.Label()), nil
}
