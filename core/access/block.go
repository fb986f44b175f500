package access

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"parley/core/chat"
	"parley/internal/lang"
)

const (
	blockedName = "blocked" // the name of the stored list
	mostBlocked = 5000      // accounts in it
)

// Memo stores values by name. Errors are those of the store.
type Memo interface {
	Kept(ctx context.Context, name string) (string, error) // "" if there is none
	Swap(ctx context.Context, name, old, value string) (bool, error)
}

// Block is the record of a blocked account.
type Block struct {
	By chat.EntityID `json:"by"`
	At time.Time     `json:"at"`
}

// list is a stored list of accounts, as text and as it was read from that. It is not changed.
type list[V any] struct {
	text string
	all  map[chat.EntityID]V
}

// lists is a list in the store, with the last version that was read.
type lists[V any] struct {
	last atomic.Pointer[list[V]]
}

// read returns the list. It fails with the error of the store.
func (l *lists[V]) read(ctx context.Context, store Memo, name string) (*list[V], error) {
	if store == nil {
		return &list[V]{}, nil
	}
	text, err := store.Kept(ctx, name)
	if last := l.last.Load(); err != nil || last != nil && last.text == text {
		return last, err
	}
	now := &list[V]{text: text}
	if text != "" {
		err = json.Unmarshal([]byte(text), &now.all)
	}
	l.last.Store(now)
	return now, err
}

// change stores the list that do has changed. It fails with the errors of do and of the store.
func (l *lists[V]) change(ctx context.Context, store Memo, name string, do func(map[chat.EntityID]V) error) error {
	for {
		was, err := l.read(ctx, store, name)
		if err != nil {
			return err
		}
		next := map[chat.EntityID]V{}
		maps.Copy(next, was.all)
		if err := do(next); err != nil {
			return err
		}
		text, _ := json.Marshal(next) // of texts and times
		if done, err := store.Swap(ctx, name, was.text, string(text)); err != nil || done {
			return err
		}
	}
}

// Blocks returns the accounts that were blocked with /block. It fails with the error of the store.
func (d *Pairing) Blocks(ctx context.Context) (map[chat.EntityID]Block, error) {
	list, err := d.blocks.read(ctx, d.Memo, blockedName)
	if err != nil {
		return nil, err
	}
	return list.all, nil
}

// SetBlocked blocks accounts, also in their other conversations, and stops the answers to them, or ends that. It fails with the error of the
// store.
func (d *Pairing) SetBlocked(ctx context.Context, by chat.EntityID, blocked bool, accounts ...chat.EntityID) error {
	for _, id := range accounts {
		if d.Visitor == nil {
			break
		}
		visitor, err := d.Visitor(ctx, id)
		if err != nil {
			return err
		}
		if visitor != "" {
			accounts = append(accounts[:len(accounts):len(accounts)], visitor)
		}
	}
	err := d.blocks.change(ctx, d.Memo, blockedName, func(all map[chat.EntityID]Block) error {
		for _, id := range accounts {
			if delete(all, id); blocked && len(all) >= mostBlocked {
				return errors.New("too many users are blocked; list them in people.blocked")
			} else if blocked {
				all[id] = Block{by, time.Now().UTC()}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, id := range accounts {
		d.Log.Info(map[bool]string{true: "a user was blocked", false: "a user was unblocked"}[blocked], "account", d.hash(ctx, id), "by", d.hash(ctx, by))
	}
	if blocked && d.Stop != nil {
		return d.Stop(ctx, accounts...)
	}
	return nil
}

// Blocked reports whether author is blocked: by the configuration, or with /block. Roles are those that came with an event. The store is
// read each time, so that a block counts on all replicas at once. It fails with the error of the store.
func (d *Pairing) Blocked(ctx context.Context, author chat.EntityID, roles []string) (bool, error) {
	if d.Policy.Blocks(author, roles) {
		return true, nil
	}
	if author == "" || author == d.Policy.Operator || d.Policy.Owners[author] || author.Automatic() {
		return false, nil
	}
	all, err := d.Blocks(ctx)
	_, is := all[author]
	return is, err
}

// Unwelcome reports whether room is a direct chat whose user is blocked. It fails with the error of the store.
func (d *Pairing) Unwelcome(ctx context.Context, agent chat.EntityID, room chat.Room) (bool, error) {
	if !room.Kind.Private() {
		return false, nil
	}
	recent, err := d.Store.Recent(ctx, room.ID, chat.Said, 0, 10)
	for _, m := range slices.Backward(recent) {
		if m.Author != agent && !m.Author.Automatic() {
			return d.Blocked(ctx, m.Author, nil)
		}
	}
	return false, err
}

// BlockRequest asks to block a user, or to end that.
type BlockRequest struct {
	By   chat.Memory  // the command
	From chat.Address // of its run
	Name chat.CommandName
	User chat.Person // without an ID if the command names no one who is known
}

// Block blocks or unblocks all accounts of a user, and returns the reply. It fails with the error of the store.
func (d *Pairing) Block(ctx context.Context, r BlockRequest, accounts []chat.EntityID) (string, error) {
	if staff, err := d.IsStaff(ctx, r.By.Author, r.From); err != nil || !staff {
		return lang.Say(ctx, "block.not_staff"), err
	}
	if r.User.ID == "" {
		connector, _, _ := strings.Cut(string(r.By.Author), "/")
		return lang.Say(ctx, "block.account", "command", r.Name, "account", connector+":ID"), nil
	}
	blocks := r.Name == chat.BlockCommand
	if blocks {
		if line, err := d.protected(ctx, r, accounts); line != "" || err != nil {
			return line, err
		}
	}
	if err := d.SetBlocked(ctx, r.By.Author, blocks, accounts...); err != nil {
		return "", err
	}
	shown := r.User.ID.Account()
	if d.Audit != nil {
		d.Audit(ctx, r.By.Author, string(r.Name), string(r.User.ID))
	}
	switch {
	case blocks:
		return lang.Say(ctx, "block.blocked", "user", r.User.Label(), "account", shown), nil
	case d.Policy.Blocks(r.User.ID, nil):
		return lang.Say(ctx, "block.configured", "user", r.User.Label()), nil
	}
	return lang.Say(ctx, "block.unblocked", "user", r.User.Label()), nil
}

// protected returns the reason why a user can't be blocked; empty if they can.
func (d *Pairing) protected(ctx context.Context, r BlockRequest, accounts []chat.EntityID) (string, error) {
	byOwner, err := d.Owns(ctx, r.By.Author)
	if err != nil {
		return "", err
	}
	staff, err := d.Staff(ctx)
	if err != nil {
		return "", err
	}
	for _, id := range accounts {
		owner, err := d.Owns(ctx, id)
		switch {
		case err != nil:
			return "", err
		case id == r.By.Author:
			return lang.Say(ctx, "block.self"), nil
		case owner, staff[id] && !byOwner:
			return lang.Say(ctx, "block.protected"), nil
		}
	}
	return "", nil
}

// hash returns the name of an account for the log.
func (d *Pairing) hash(ctx context.Context, id chat.EntityID) string {
	if d.Pseudonym == nil {
		return "-"
	}
	name, err := d.Pseudonym(ctx, id)
	if err != nil {
		return "unknown"
	}
	return name
}
