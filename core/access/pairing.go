package access

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"parley/core/chat"
	"parley/internal/lang"
)

const (
	codeAgain    = 10 * time.Minute // interval between two replies with the same code
	mostRequests = 5                // waiting users, for each connector
)

// ApprovalStore contains the store methods for approving a user. Errors are those of package storage.
type ApprovalStore interface {
	Approve(ctx context.Context, p chat.Person) error
	PairingRequests(ctx context.Context) ([]chat.PairingRequest, error)
	EntityStore
}

// PairingStore contains the store methods of [Pairing]. Errors are those of package storage.
type PairingStore interface {
	Person(ctx context.Context, id chat.EntityID) (chat.Person, error)
	Owner(ctx context.Context) (chat.Person, error)
	SetOwner(ctx context.Context, p chat.Person) (bool, error)
	ApprovalStore
	Reject(ctx context.Context, code string) error
	RequestPairing(ctx context.Context, k chat.PairingRequest, r chat.PairingRule) (chat.PairingRequest, bool, error)
	DirectRoom(ctx context.Context, author chat.EntityID) (chat.Room, error)
	Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error)
}

// Tell sends a message of the agent, once by its key, and returns when delivery is guaranteed. It fails with
// [chat.ErrNotFound] or [chat.ErrUnreached] if there is no address.
type Tell func(ctx context.Context, n chat.Notice) error

// Pairing gives users access: the first account that sends the owner's code, and the users that an owner approves. Safe for concurrent use.
type Pairing struct {
	Policy Policy
	Store  PairingStore
	Memo   Memo // stores blocked users; nil: only the configuration blocks
	Tell   Tell
	Log    *slog.Logger
	// Pseudonym returns the name of an account for the log; nil: the log has none.
	Pseudonym func(ctx context.Context, user chat.EntityID) (string, error)
	// Stop ends the answers in progress to accounts that are blocked; nil: they end by themselves.
	Stop  func(ctx context.Context, accounts ...chat.EntityID) error
	Audit func(ctx context.Context, by chat.EntityID, what, about string) // records a decision in a chat; can be nil
	// Visitor returns the account behind an account of one conversation, "" for none; nil: no platform has such. It fails with the error of
	// the store.
	Visitor func(ctx context.Context, account chat.EntityID) (chat.EntityID, error)
	// Public is called when the open worlds are read, with whether there are any, before a user has access by one; can be nil.
	Public func(open bool)

	tries  tries
	blocks lists[Block]
	roles  lists[roleStaff]
	open   lists[time.Time] // worlds where everyone has access
}

// Guest is the author of a direct message, with or without access.
type Guest struct {
	chat.Person
	Room    chat.Room
	Says    string
	Greeted bool // the agent has written to them before
}

// Invited reports whether the agent works for author in r: by the policy, or because an owner has approved them. It
// fails with the error of the store.
func (d *Pairing) Invited(ctx context.Context, r chat.Room, author chat.EntityID, roles []string) (bool, error) {
	if c := d.Policy.Decide(r, author, roles); c != Maybe {
		return c == Yes, nil
	}
	if staff, err := d.ListsStaff(ctx, author, chat.Address{}); err != nil || staff {
		return staff, err
	}
	if _, err := d.Store.Person(ctx, author); !errors.Is(err, chat.ErrNotFound) {
		return err == nil, err
	}
	return d.isOpen(ctx, r)
}

// Check reports whether g has access, and returns the reply instead of an answer. It fails with the error of the store.
func (d *Pairing) Check(ctx context.Context, g Guest) (in bool, line string, err error) {
	if in, err = d.Invited(ctx, g.Room, g.ID, nil); err != nil {
		return false, "", err
	}
	code, meant := codeIn(g.Says)
	if in && code == "" && !meant {
		return true, "", nil // the result is the same without an owner
	}
	ownerless, err := d.ownerless(ctx)
	if err != nil {
		return false, "", err
	}
	if code != "" || meant {
		if line, err = d.redeem(ctx, g, code, ownerless); line != "" || err != nil {
			return in, line, err
		}
	}
	switch {
	case in:
		return true, "", nil
	case d.Policy.Direct == DirectPairing && !ownerless:
		line, err = d.requestPairing(ctx, g)
	case g.Greeted || d.Policy.Direct == DirectOff:
	case d.Policy.Direct == DirectPairing:
		line = lang.Say(ctx, "pairing.unowned")
	default:
		line = lang.Say(ctx, "pairing.stranger")
	}
	return false, line, err
}

// redeem processes the code of g: the owner's code from the first account that sends it, others from the owner. It does
// not reply to users who can't use codes. It fails with the error of the store.
func (d *Pairing) redeem(ctx context.Context, g Guest, code string, ownerless bool) (line string, err error) {
	if ownerless {
		return d.pairOwner(ctx, g, code)
	}
	if owns, err := d.Owns(ctx, g.ID); err != nil || !owns {
		return "", err
	}
	p, err := d.Approve(ctx, code)
	switch _, meant := codeIn(g.Says); {
	case err == nil:
		d.Log.Info("the owner approved a user", "account", p.ID)
		return lang.Say(ctx, "pairing.approved", "user", p.Label()), nil
	case !errors.Is(err, chat.ErrNotFound):
		return "", err
	case meant:
		return lang.Say(ctx, "pairing.wrong"), nil
	}
	return "", nil // an ordinary word of eight letters
}

// pairOwner makes g the owner if they send the right code, and are first. It fails with the error of the store.
func (d *Pairing) pairOwner(ctx context.Context, g Guest, code string) (line string, err error) {
	if d.Policy.Direct != DirectPairing || !d.tries.allow(g.ID) {
		return "", nil
	}
	right, err := d.OwnerCode(ctx)
	if err != nil {
		return "", err
	}
	right, _ = codeIn(right)
	if subtle.ConstantTimeCompare([]byte(code), []byte(right)) != 1 || right == "" {
		d.tries.failed(g.ID)
		if _, meant := codeIn(g.Says); meant {
			return lang.Say(ctx, "pairing.wrong"), nil
		}
		return "", nil
	}
	owns, err := d.Store.SetOwner(ctx, g.Person)
	if err != nil || !owns {
		return "", err
	}
	d.Log.Info("a user sent the owner's code and is now the owner", "account", g.ID)
	return lang.Say(ctx, "pairing.owned"), nil
}

// requestPairing returns the text with the code for a user without access, from time to time, and asks the owner to
// approve them. If too many wait, or the owner has rejected them, there is no reply. It fails with the error of the
// store.
func (d *Pairing) requestPairing(ctx context.Context, g Guest) (line string, err error) {
	k := chat.PairingRequest{Person: g.Person, Code: newCode(), Ends: g.Since.Add(codeTime)}
	k, tell, err := d.Store.RequestPairing(ctx, k, chat.PairingRule{Limit: mostRequests, RepeatAfter: codeAgain})
	if err != nil || !tell {
		return "", err
	}
	d.askOwners(ctx, k)
	return lang.Say(ctx, "pairing.code", "code", ShownCode(k.Code)), nil
}

// RequestAccess asks the owners to approve a user who pressed a button in a group, and returns the reply. It fails with the error of the
// store.
func (d *Pairing) RequestAccess(ctx context.Context, who chat.Person) (line string, err error) {
	switch ownerless, err := d.ownerless(ctx); {
	case err != nil:
		return "", err
	case ownerless:
		return lang.Say(ctx, "pairing.unowned"), nil
	case d.Policy.Direct != DirectPairing:
		return lang.Say(ctx, "choice.not_invited"), nil
	}
	room, err := d.Store.DirectRoom(ctx, who.ID) // for the welcome; many have none
	if chat.Unless(err, chat.ErrNotFound) != nil {
		return "", err
	}
	who.Address, who.Since = room.Address, time.Now()
	who.Address.Connector, _, _ = strings.Cut(string(who.ID), "/")
	if _, err := d.requestPairing(ctx, Guest{Person: who}); err != nil {
		return "", err
	}
	return lang.Say(ctx, "access.requested"), nil
}

// OwnerCode returns the code of the future owner, while there is no owner and one is expected; otherwise it is empty.
// It fails with the error of the store.
func (d *Pairing) OwnerCode(ctx context.Context) (string, error) {
	if ownerless, err := d.ownerless(ctx); err != nil || !ownerless || d.Policy.Direct != DirectPairing {
		return "", err
	}
	k, _, err := d.Store.RequestPairing(ctx, chat.PairingRequest{Code: newCode()}, chat.PairingRule{Limit: 1})
	if err != nil {
		return "", fmt.Errorf("make the owner's code: %w", err)
	}
	return ShownCode(k.Code), nil
}

// ownerless reports whether there is no owner yet, who could approve others. It fails with the error of the store.
func (d *Pairing) ownerless(ctx context.Context) (bool, error) {
	if len(d.Policy.Owners) > 0 {
		return false, nil
	}
	_, err := d.Store.Owner(ctx)
	return errors.Is(err, chat.ErrNotFound), chat.Unless(err, chat.ErrNotFound)
}

// Owns reports whether id is an owner: the operator, an owner of the configuration, or the paired one. It fails with
// the error of the store.
func (d *Pairing) Owns(ctx context.Context, id chat.EntityID) (bool, error) {
	if id != "" && id == d.Policy.Operator {
		return true, nil
	}
	if len(d.Policy.Owners) > 0 {
		return d.Policy.Owners[id], nil
	}
	owner, err := d.Store.Owner(ctx)
	return err == nil && owner.ID == id, chat.Unless(err, chat.ErrNotFound)
}
