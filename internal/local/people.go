package local

import (
	"context"
	"errors"
	"fmt"

	"parley/config"
	"parley/core/access"
	"parley/core/chat"
	"parley/internal/settings"
)

// People lists the users of a gateway.
type People struct {
	Approved []chat.Person
	Waiting  []chat.PairingRequest // without their codes, by which the owner recognizes the users who tell them
	// OwnerCode makes the first user who sends it to a bot in a direct message the owner. It is empty if there is an owner, or if
	// no gateway has run yet.
	OwnerCode string
}

// pairRequest is the request of gateway pair: the code of a user to approve, an account to remove, or, if both are
// empty, the list.
type pairRequest struct{ Code, Remove string }

type pairReply struct {
	Person chat.Person // who was approved
	People People
}

var pair = command[pairRequest, pairReply]{"pair", pairAt}

// Approve gives access to the user who was told code, at the running gateway of cfg, or in its store if none runs.
func Approve(ctx context.Context, cfg config.Config, code string) (chat.Person, error) {
	reply, err := pair.run(ctx, cfg, pairRequest{Code: code})
	return reply.Person, err
}

// Revoke takes away the access of an approved account, in the same way.
func Revoke(ctx context.Context, cfg config.Config, account string) error {
	_, err := pair.run(ctx, cfg, pairRequest{Remove: account})
	return err
}

// ListPeople returns the approved and waiting users, in the same way.
func ListPeople(ctx context.Context, cfg config.Config) (People, error) {
	reply, err := pair.run(ctx, cfg, pairRequest{})
	if len(cfg.Owner) > 0 {
		reply.People.OwnerCode = "" // it was made before the configuration named an owner, and has no effect now
	}
	return reply.People, err
}

// pairAt does what req asks for, in a gateway or without one.
func pairAt(ctx context.Context, store Store, rt Runtime, req pairRequest) (reply pairReply, err error) {
	switch {
	case req.Code != "":
		reply.Person, err = rt.Approve(ctx, req.Code)
		if errors.Is(err, chat.ErrNotFound) {
			err = errors.New("unknown or expired code; codes are valid for an hour")
		}
		return reply, err
	case req.Remove != "":
		if err = store.Dismiss(ctx, settings.Entity(req.Remove)); errors.Is(err, chat.ErrNotFound) {
			err = fmt.Errorf("%s has no approval to revoke; gateway pair --list shows approved users, and config.yaml may allow more", req.Remove)
		}
		return reply, err
	}
	if reply.People.Approved, err = store.People(ctx); err != nil {
		return reply, err
	}
	waiting, err := store.PairingRequests(ctx)
	for _, k := range waiting {
		if k.ID == "" {
			reply.People.OwnerCode = access.ShownCode(k.Code)
			continue
		}
		k.Code = ""
		reply.People.Waiting = append(reply.People.Waiting, k)
	}
	return reply, err
}
