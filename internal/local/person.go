package local

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/backends"
	"parley/config"
	"parley/core/access"
	"parley/core/chat"
	"parley/internal/rest"
	"parley/internal/settings"
)

// personRequest is the request of gateway person: a page of the data about an account, or a step of its deletion.
// Each is short, so that a large export needs no long request.
type personRequest struct {
	Account string
	After   string
	Delete  bool
}

type personReply struct {
	Page    chat.PersonalPage
	Deleted chat.PersonalDeletion
	Linked  []chat.EntityID // the other accounts of the person; only before a deletion
}

var person = command[personRequest, personReply]{name: "person", do: personAt}

// personAt makes one step. A gateway, which rt is, first stores the usage that it still has in memory: an export is to
// have it, and stored after a deletion it would survive that.
func personAt(ctx context.Context, store Store, rt Runtime, req personRequest) (reply personReply, err error) {
	who := settings.Entity(req.Account)
	if rt != nil && (req.Delete || req.After == "") {
		if err := rt.SaveUsage(ctx); err != nil {
			return reply, err
		}
	}
	if req.Delete {
		accounts, err := access.AccountsOf(ctx, store, who)
		if err == nil {
			reply.Linked = accounts[1:]
			reply.Deleted, err = store.DeletePersonal(ctx, who)
		}
		return reply, err
	}
	reply.Page, err = store.PersonalRecords(ctx, who, req.After)
	return reply, err
}

// Person is access to the data about a person: through the running gateway of a configuration, or in its store.
type Person struct {
	Running bool // a gateway can have answers to the person under way
	account string
	step    func(context.Context, personRequest) (personReply, error)
	close   func() error
}

// OpenPerson returns access to the data about an account. The caller closes it. It fails if neither a gateway nor its
// store can be reached.
func OpenPerson(ctx context.Context, cfg config.Config, account string) (*Person, error) {
	if Running(ctx, cfg) {
		step := func(ctx context.Context, req personRequest) (personReply, error) { return person.run(ctx, cfg, req) }
		return &Person{Running: true, account: account, step: step, close: func() error { return nil }}, nil
	}
	store, err := backends.Open(ctx, cfg.Store.Reveal(), backends.Options{Guest: true})
	if err != nil {
		return nil, fmt.Errorf("no gateway with this configuration can be reached, and: %w", err)
	}
	step := func(ctx context.Context, req personRequest) (personReply, error) {
		return personAt(ctx, store, nil, req)
	}
	return &Person{Running: backends.Path(cfg.Store.Reveal()) == "", account: account, step: step, close: store.Close}, nil
}

// Close closes the store, if it was opened, and returns its error.
func (p *Person) Close() error { return p.close() }

// Export calls each with everything that is stored about the person, page by page, and stops at its first error.
func (p *Person) Export(ctx context.Context, each func(chat.PersonalPage) error) error {
	return exportPages(each, func(after string) (chat.PersonalPage, error) {
		reply, err := p.step(ctx, personRequest{Account: p.account, After: after})
		return reply.Page, err
	})
}

// exportPages calls each with the pages that page returns, one after the other.
func exportPages(each func(chat.PersonalPage) error, page func(after string) (chat.PersonalPage, error)) error {
	for after := ""; ; {
		is, err := page(after)
		if err == nil && len(is.Records) > 0 {
			err = each(is)
		}
		if err != nil || is.Next == "" {
			return err
		}
		if is.Next == after {
			return errors.New("the export does not continue")
		}
		after = is.Next
	}
}

// How long Delete waits for answers that are under way, and how often it looks.
const (
	openTries = 20
	openPause = 500 * time.Millisecond
)

// Delete deletes the data about the person, in steps, and returns the numbers of deleted records by section, also
// of those deleted before an error. Answers under way still need their messages, so it waits for them for some seconds;
// Open is the number of those left then. linked has the accounts that were linked with this one; their data stays.
func (p *Person) Delete(ctx context.Context) (sum chat.PersonalDeletion, linked []chat.EntityID, err error) {
	sum.Deleted = map[string]int{}
	for tries := 0; ; {
		reply, err := p.step(ctx, personRequest{Account: p.account, Delete: true})
		for section, n := range reply.Deleted.Deleted {
			sum.Deleted[section] += n
		}
		linked = append(linked, reply.Linked...)
		sum.Open = reply.Deleted.Open
		switch {
		case err != nil:
			return sum, linked, err
		case reply.Deleted.More:
			continue
		case sum.Open == 0 || !p.Running || tries == openTries:
			return sum, linked, nil
		}
		tries++
		if err := rest.For(ctx, openPause); err != nil {
			return sum, linked, err
		}
	}
}
