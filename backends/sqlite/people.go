package sqlite

import (
	"context"
	"errors"
	"time"

	"parley/backends/record"
	"parley/core/chat"
)

const selectPeople = `SELECT ` + record.PersonColumns + ` FROM people `

// Person implements [storage.People].
func (s *people) Person(ctx context.Context, id chat.EntityID) (p chat.Person, err error) {
	err = s.read(ctx, func(db *conn) (err error) {
		p, err = record.ScanPerson(db.QueryRowContext(ctx, selectPeople+`WHERE id = ?`, id))
		return err
	})
	return p, wrap(err, "reading the person %q", id)
}

// Owner implements [storage.People].
func (s *people) Owner(ctx context.Context) (p chat.Person, err error) {
	err = s.read(ctx, func(db *conn) (err error) {
		p, err = record.ScanPerson(db.QueryRowContext(ctx, selectPeople+`WHERE owner`))
		return err
	})
	return p, wrap(err, "reading the owner")
}

// People implements [storage.People].
func (s *people) People(ctx context.Context) (all []chat.Person, err error) {
	err = s.read(ctx, func(db *conn) error {
		rows, err := db.QueryContext(ctx, selectPeople+`ORDER BY seq`)
		if err == nil {
			all, err = collect(rows, record.ScanPerson)
		}
		return err
	})
	return all, wrap(err, "reading the people")
}

// Approve implements [storage.People].
func (s *people) Approve(ctx context.Context, p chat.Person) error {
	err := record.CheckPerson(p)
	if err == nil {
		err = s.forgetting(ctx, func(ctx context.Context, tx *conn) error { return approve(ctx, tx, p) })
	}
	return wrap(err, "letting %q in", p.ID)
}

// approve stores p as an approved user and deletes their request. The owner flag is not part of the update: approving the
// owner once more does not take it away.
func approve(ctx context.Context, tx *conn, p chat.Person) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM knocks WHERE id = ?`, p.ID); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `
		INSERT INTO people (id, name, address, owner, since) VALUES (?, ?, ?, FALSE, ?)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, address = excluded.address`,
		p.ID, p.Name, record.JSON(p.Address), record.Nanos(p.Since))
	return err
}

// SetOwner implements [storage.People].
func (s *people) SetOwner(ctx context.Context, p chat.Person) (owns bool, err error) {
	if err = record.CheckPerson(p); err == nil {
		err = s.forgetting(ctx, func(ctx context.Context, tx *conn) (err error) {
			owns, err = makeOwner(ctx, tx, p)
			return err
		})
	}
	return owns, wrap(err, "making %q the owner", p.ID)
}

// makeOwner makes p the owner, if there is none, and deletes the request that holds the gateway's owner code (the
// one with the empty id). The unique index people_one_owner would refuse a second owner in any case.
func makeOwner(ctx context.Context, tx *conn, p chat.Person) (bool, error) {
	_, err := record.ScanPerson(tx.QueryRowContext(ctx, selectPeople+`WHERE owner`))
	if !errors.Is(err, chat.ErrNotFound) {
		return false, err
	}
	if err := approve(ctx, tx, p); err != nil {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE people SET owner = TRUE WHERE id = ?`, p.ID); err != nil {
		return false, err
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM knocks WHERE id = ''`)
	return err == nil, err
}

// RemoveUser implements [storage.People]. The name and the address of a revoked user leave the write-ahead log too.
func (s *people) RemoveUser(ctx context.Context, id chat.EntityID) error {
	err := s.burying(ctx, tombstone{Kind: accessRevoked, ID: string(id)}, func(ctx context.Context, tx *conn) error {
		gone := 0
		for _, from := range []string{`DELETE FROM people WHERE id = ?`, `DELETE FROM knocks WHERE id = ?`} {
			n, err := tx.ExecContext(ctx, from, id)
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
	return wrap(err, "revoking %q", id)
}

// Reject implements [storage.People]. The request stays without its code until it ends, so that its user is not greeted
// with a new code by writing again.
func (s *people) Reject(ctx context.Context, code string) error {
	err := s.write(ctx, func(ctx context.Context, tx *conn) error {
		var id string
		return record.Found(tx.QueryRowContext(ctx, `
			UPDATE knocks SET code = '' WHERE code = ? AND code <> '' AND id <> '' AND ends > ? RETURNING id`, code, record.Nanos(time.Now())).Scan(&id))
	})
	return wrap(err, "rejecting a pairing request")
}

const selectRequests = `SELECT ` + record.RequestColumns + ` FROM knocks `

// PairingRequests implements [storage.People].
func (s *people) PairingRequests(ctx context.Context) (all []chat.PairingRequest, err error) {
	err = s.read(ctx, func(db *conn) error {
		rows, err := db.QueryContext(ctx, selectRequests+`WHERE code <> '' AND (ends = 0 OR ends > ?) ORDER BY seq`, record.Nanos(time.Now()))
		if err == nil {
			all, err = collect(rows, record.ScanRequest)
		}
		return err
	})
	return all, wrap(err, "reading pairing requests")
}

// RequestPairing implements [storage.People]. It also deletes requests that have expired.
func (s *people) RequestPairing(ctx context.Context, k chat.PairingRequest, r chat.PairingRule) (waiting chat.PairingRequest, tell bool, err error) {
	if err = record.CheckText(string(k.ID), k.Name, k.Code); err == nil {
		err = s.forgetting(ctx, func(ctx context.Context, tx *conn) (err error) {
			waiting, tell, err = requestPairing(ctx, tx, k, r)
			return err
		})
	}
	return waiting, tell, wrap(err, "saving the pairing request of %q", k.ID)
}

// requestPairing returns the open request of a user, or adds one within the limit of its connector. The limit keeps
// strangers from filling the table; told is updated in the same transaction, so a user who writes quickly is told once.
func requestPairing(ctx context.Context, tx *conn, k chat.PairingRequest, r chat.PairingRule) (chat.PairingRequest, bool, error) {
	now := time.Now()
	if _, err := tx.ExecContext(ctx, `DELETE FROM knocks WHERE ends <> 0 AND ends <= ?`, record.Nanos(now)); err != nil {
		return chat.PairingRequest{}, false, err
	}
	old, err := record.ScanRequest(tx.QueryRowContext(ctx, selectRequests+`WHERE id = ?`, k.ID))
	switch {
	case err == nil && (old.Code == "" || now.Sub(old.Told) < r.RepeatAfter):
		return old, false, nil
	case err == nil:
		old.Told = now
		_, err = tx.ExecContext(ctx, `UPDATE knocks SET told = ? WHERE id = ?`, record.Nanos(now), k.ID)
		return old, err == nil, err
	case !errors.Is(err, chat.ErrNotFound):
		return chat.PairingRequest{}, false, err
	}
	var others int
	err = tx.QueryRowContext(ctx, `SELECT count(*) FROM knocks WHERE connector = ? AND code <> ''`, k.Address.Connector).Scan(&others)
	if err != nil || others >= r.Limit {
		return chat.PairingRequest{}, false, err
	}
	k.Told = now
	_, err = tx.ExecContext(ctx, `
		INSERT INTO knocks (id, connector, name, address, since, code, ends, told) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		k.ID, k.Address.Connector, k.Name, record.JSON(k.Address), record.Nanos(k.Since), k.Code, record.Nanos(k.Ends), record.Nanos(k.Told))
	return k, err == nil, err
}
