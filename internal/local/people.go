package local

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"parley/config"
	"parley/connectors/web/login"
	"parley/core/access"
	"parley/core/chat"
	"parley/internal/settings"
)

// People lists the users of a gateway.
type People struct {
	Approved []chat.Person
	Waiting  []chat.PairingRequest // without their codes: users prove themselves by telling them to the owner
	// OwnerCode makes the first user who sends it to a bot in a direct message the owner. It is empty if there is an owner, or if
	// no gateway has run yet.
	OwnerCode string
	Browsers  []login.Session // logged in as the owner, without the hashes of their tokens
}

// pairRequest is the request of gateway pair: the code of a user to approve, an account or a browser to remove, a code for a
// browser, or, if all are empty, the list.
type pairRequest struct {
	Code, Remove string
	Web          bool
}

type pairReply struct {
	Person chat.Person // the approved user
	People People
	Web    string // the code for a browser
}

// browserPrefix begins the argument of [Revoke] for a browser: the id of its session follows.
const browserPrefix = "browser:"

var pair = command[pairRequest, pairReply]{name: "pair", do: pairAt}

// Approve gives access to the user who has this code, at the running gateway of cfg, or in its store if none runs. It
// fails for an unknown or expired code.
func Approve(ctx context.Context, cfg config.Config, code string) (chat.Person, error) {
	reply, err := pair.run(ctx, cfg, pairRequest{Code: code})
	return reply.Person, err
}

// Revoke takes away the access of an approved account, or of a browser ("browser:ID"), in the same way. It fails for an
// unknown one.
func Revoke(ctx context.Context, cfg config.Config, account string) error {
	_, err := pair.run(ctx, cfg, pairRequest{Remove: account})
	return err
}

// WebCode returns a code that logs one browser in as the owner, for five minutes, in the same way. It fails like
// ListPeople.
func WebCode(ctx context.Context, cfg config.Config) (string, error) {
	reply, err := pair.run(ctx, cfg, pairRequest{Web: true})
	return reply.Web, err
}

// A setup comes before the first start, so this command creates the store.
var ownerCode = command[struct{}, string]{name: "owner-code", creates: true, do: func(ctx context.Context, _ Store, rt Runtime, _ struct{}) (string, error) {
	return rt.OwnerCode(ctx)
}}

// OwnerCode returns the code that makes the first user who sends it the owner, in the same way. It is empty if there is an owner.
func OwnerCode(ctx context.Context, cfg config.Config) (string, error) {
	return ownerCode.run(ctx, cfg, struct{}{})
}

// ListPeople returns the approved and waiting users, in the same way. It fails if neither a gateway nor its store can
// be reached.
func ListPeople(ctx context.Context, cfg config.Config) (People, error) {
	reply, err := pair.run(ctx, cfg, pairRequest{})
	if len(cfg.People.Owners) > 0 {
		reply.People.OwnerCode = "" // it was made before the configuration named an owner, and has no effect now
	}
	return reply.People, err
}

// pairAt carries out req, in a gateway or without one.
func pairAt(ctx context.Context, store Store, rt Runtime, req pairRequest) (reply pairReply, err error) {
	browsers := login.Sessions{Store: store}
	browser, isBrowser := strings.CutPrefix(req.Remove, browserPrefix)
	switch {
	case req.Web:
		reply.Web, err = browsers.NewCode(ctx)
		return reply, err
	case isBrowser:
		if err = browsers.End(ctx, browser); errors.Is(err, chat.ErrNotFound) {
			err = fmt.Errorf("no browser %s is logged in; gateway pair --list shows those that are", browser)
		}
		return reply, err
	case req.Code != "":
		reply.Person, err = rt.Approve(ctx, req.Code)
		if errors.Is(err, chat.ErrNotFound) {
			err = errors.New("unknown or expired code; codes are valid for an hour")
		}
		return reply, err
	case req.Remove != "":
		if err = store.RemoveUser(ctx, settings.Entity(req.Remove)); errors.Is(err, chat.ErrNotFound) {
			err = fmt.Errorf("%s has no approval to revoke; gateway pair --list shows approved users, and config.yaml may allow more", req.Remove)
		}
		return reply, err
	}
	if reply.People.Approved, err = store.People(ctx); err != nil {
		return reply, err
	}
	if reply.People.Browsers, err = browsers.List(ctx); err != nil {
		return reply, err
	}
	for i := range reply.People.Browsers {
		reply.People.Browsers[i].Hash = ""
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
