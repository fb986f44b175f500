package sqlstore

import (
	"context"
	"errors"

	"parley/backends/record"
	"parley/core/chat"
)

// change returns a transaction with the lock of all writes to users and pairing requests: they are rare, and each depends on the others.
func (s *people) change() Change { return change(s.Shared, "people", "") }

const selectPeople = `SELECT ` + record.PersonColumns + ` FROM people `

// Person implements [storage.People].
func (s *people) Person(ctx context.Context, id chat.EntityID) (p chat.Person, err error) {
	p, err = one(ctx, s.Shared, record.ScanPerson, selectPeople+`WHERE id = $1`, id)
	return p, s.wrap(err, "reading the person %q", id)
}

// Owner implements [storage.People].
func (s *people) Owner(ctx context.Context) (p chat.Person, err error) {
	p, err = one(ctx, s.Shared, record.ScanPerson, selectPeople+`WHERE owner`)
	return p, s.wrap(err, "reading the owner")
}

// People implements [storage.People].
func (s *people) People(ctx context.Context) (all []chat.Person, err error) {
	all, err = list(ctx, s.Shared, record.ScanPerson, selectPeople+`ORDER BY seq`)
	return all, s.wrap(err, "reading the people")
}

// Approve implements [storage.People].
func (s *people) Approve(ctx context.Context, p chat.Person) error {
	err := record.CheckPerson(p)
	if err == nil {
		err = s.Write(ctx, s.change().deleting(), func(ctx context.Context, tx Conn) error { return approve(ctx, tx, p) })
	}
	return s.wrap(err, "letting %q in", p.ID)
}

// approve stores p as an approved user and deletes their request. The owner flag is not part of the update: approving the
// owner once more does not take it away.
func approve(ctx context.Context, tx Conn, p chat.Person) error {
	if _, err := tx.Exec(ctx, `DELETE FROM knocks WHERE id = $1`, p.ID); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO people (id, name, address, owner, since) VALUES ($1, $2, $3, FALSE, $4)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, address = excluded.address`,
		p.ID, p.Name, record.JSON(p.Address), record.Nanos(p.Since))
	return err
}

// SetOwner implements [storage.People].
func (s *people) SetOwner(ctx context.Context, p chat.Person) (owns bool, err error) {
	if err = record.CheckPerson(p); err == nil {
		err = s.Write(ctx, s.change().deleting(), func(ctx context.Context, tx Conn) (err error) {
			owns, err = makeOwner(ctx, tx, p)
			return err
		})
	}
	return owns, s.wrap(err, "making %q the owner", p.ID)
}

// makeOwner makes p the owner, if there is none, and deletes the request that holds the gateway's owner code (the
// one with the empty id). The unique index people_one_owner would refuse a second owner in any case.
func makeOwner(ctx context.Context, tx Conn, p chat.Person) (bool, error) {
	_, err := record.ScanPerson(tx.QueryRow(ctx, selectPeople+`WHERE owner`))
	if !errors.Is(err, chat.ErrNotFound) {
		return false, err
	}
	if err := approve(ctx, tx, p); err != nil {
		return false, err
	}
	if _, err := tx.Exec(ctx, `UPDATE people SET owner = TRUE WHERE id = $1`, p.ID); err != nil {
		return false, err
	}
	_, err = tx.Exec(ctx, `DELETE FROM knocks WHERE id = ''`)
	return err == nil, err
}

// RemoveUser implements [storage.People]. The name and the address of a revoked user leave the files of the store too.
func (s *people) RemoveUser(ctx context.Context, id chat.EntityID) error {
	err := s.burying(ctx, s.change(), Tombstone{Kind: AccessRevoked, ID: string(id)}, func(ctx context.Context, tx Conn) error {
		gone := 0
		for _, from := range []string{`DELETE FROM people WHERE id = $1`, `DELETE FROM knocks WHERE id = $1`} {
			n, err := tx.Exec(ctx, from, id)
			if err != nil {
				return err
			}
			gone += n
		}
		if gone == 0 {
			return chat.ErrNotFound
		}
		return nil
	})
	return s.wrap(err, "revoking %q", id)
}

// Reject implements [storage.People]. The request stays without its code until it ends, so that its user is not greeted
// with a new code by writing again.
func (s *people) Reject(ctx context.Context, code string) error {
	err := s.Write(ctx, s.change(), func(ctx context.Context, tx Conn) error {
		var id string
		return record.Found(tx.QueryRow(ctx, `
			UPDATE knocks SET code = '' WHERE code = $1 AND code <> '' AND id <> '' AND ends > $2 RETURNING id`, code, s.Present()).Scan(&id))
	})
	return s.wrap(err, "rejecting a pairing request")
}

const selectRequests = `SELECT ` + record.RequestColumns + ` FROM knocks `

// scanRequest reads a request and converts its times to the clock of the process.
func (s *people) scanRequest(r record.Row) (chat.PairingRequest, error) {
	k, err := record.ScanRequest(r)
	k.Ends, k.Told = s.Local(k.Ends), s.Local(k.Told)
	return k, err
}

// PairingRequests implements [storage.People].
func (s *people) PairingRequests(ctx context.Context) (all []chat.PairingRequest, err error) {
	all, err = list(ctx, s.Shared, s.scanRequest, selectRequests+`WHERE code <> '' AND (ends = 0 OR ends > $1) ORDER BY seq`, s.Present())
	return all, s.wrap(err, "reading pairing requests")
}

// RequestPairing implements [storage.People].
func (s *people) RequestPairing(ctx context.Context, k chat.PairingRequest, r chat.PairingRule) (waiting chat.PairingRequest, tell bool, err error) {
	if err = record.CheckText(string(k.ID), k.Name, k.Code); err == nil {
		err = s.Write(ctx, s.change().deleting(), func(ctx context.Context, tx Conn) (err error) {
			waiting, tell, err = s.requestPairing(ctx, tx, k, r)
			return err
		})
	}
	return waiting, tell, s.wrap(err, "saving the pairing request of %q", k.ID)
}

// requestPairing returns the open request of a user, or adds one within the limit of its connector. The limit keeps
// strangers from filling the table; told is updated in the same transaction, so a user who writes quickly is told once.
func (s *people) requestPairing(ctx context.Context, tx Conn, k chat.PairingRequest, r chat.PairingRule) (chat.PairingRequest, bool, error) {
	now := s.Now()
	if _, err := tx.Exec(ctx, `DELETE FROM knocks WHERE ends <> 0 AND ends <= $1`, s.Stored(now)); err != nil {
		return chat.PairingRequest{}, false, err
	}
	old, err := s.scanRequest(tx.QueryRow(ctx, selectRequests+`WHERE id = $1`, k.ID))
	switch {
	case err == nil && (old.Code == "" || now.Sub(old.Told) < r.RepeatAfter):
		return old, false, nil
	case err == nil:
		old.Told = now
		_, err = tx.Exec(ctx, `UPDATE knocks SET told = $1 WHERE id = $2`, s.Stored(now), k.ID)
		return old, err == nil, err
	case !errors.Is(err, chat.ErrNotFound):
		return chat.PairingRequest{}, false, err
	}
	var others int
	err = tx.QueryRow(ctx, `SELECT count(*) FROM knocks WHERE connector = $1 AND code <> ''`, k.Address.Connector).Scan(&others)
	if err != nil || others >= r.Limit {
		return chat.PairingRequest{}, false, err
	}
	k.Told = now
	_, err = tx.Exec(ctx, `
		INSERT INTO knocks (id, connector, name, address, since, code, ends, told) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		k.ID, k.Address.Connector, k.Name, record.JSON(k.Address), record.Nanos(k.Since), k.Code, s.Stored(k.Ends), s.Stored(k.Told))
	return k, err == nil, err
}
