package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"parley/core/chat"
)

const selectPeople = `SELECT id, name, address, owner, since FROM people `

func scanPerson(r row) (p chat.Person, err error) {
	err = r.Scan(&p.ID, &p.Name, jsonColumn{&p.Address}, &p.Owner, timeColumn{&p.Since})
	return p, found(err)
}

// Person implements [core.People].
func (s *people) Person(ctx context.Context, id chat.EntityID) (p chat.Person, err error) {
	err = s.read(func(db *sql.DB) (err error) {
		p, err = scanPerson(db.QueryRowContext(ctx, selectPeople+`WHERE id = ?`, id))
		return err
	})
	return p, wrap(err, "reading the person %q", id)
}

// Owner implements [core.People].
func (s *people) Owner(ctx context.Context) (p chat.Person, err error) {
	err = s.read(func(db *sql.DB) (err error) {
		p, err = scanPerson(db.QueryRowContext(ctx, selectPeople+`WHERE owner`))
		return err
	})
	return p, wrap(err, "reading the owner")
}

// People implements [core.People].
func (s *people) People(ctx context.Context) (all []chat.Person, err error) {
	err = s.read(func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, selectPeople+`ORDER BY seq`)
		if err == nil {
			all, err = collect(rows, scanPerson)
		}
		return err
	})
	return all, wrap(err, "reading the people")
}

// Approve implements [core.People].
func (s *people) Approve(ctx context.Context, p chat.Person) error {
	err := checkPerson(p)
	if err == nil {
		err = s.write(ctx, func(ctx context.Context, tx *sql.Tx) error { return letIn(ctx, tx, p) })
	}
	return wrap(err, "letting %q in", p.ID)
}

func letIn(ctx context.Context, tx *sql.Tx, p chat.Person) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM knocks WHERE id = ?`, p.ID); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `
		INSERT INTO people (id, name, address, owner, since) VALUES (?, ?, ?, FALSE, ?)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, address = excluded.address`,
		p.ID, p.Name, toJSON(p.Address), nanos(p.Since))
	return err
}

// Own implements [core.People].
func (s *people) Own(ctx context.Context, p chat.Person) (owns bool, err error) {
	if err = checkPerson(p); err == nil {
		err = s.write(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
			owns, err = own(ctx, tx, p)
			return err
		})
	}
	return owns, wrap(err, "making %q the owner", p.ID)
}

func own(ctx context.Context, tx *sql.Tx, p chat.Person) (bool, error) {
	_, err := scanPerson(tx.QueryRowContext(ctx, selectPeople+`WHERE owner`))
	if !errors.Is(err, chat.ErrNotFound) {
		return false, err
	}
	if err := letIn(ctx, tx, p); err != nil {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE people SET owner = TRUE WHERE id = ?`, p.ID); err != nil {
		return false, err
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM knocks WHERE id = ''`)
	return err == nil, err
}

// Dismiss implements [core.People].
func (s *people) Dismiss(ctx context.Context, id chat.EntityID) error {
	err := s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		gone := int64(0)
		for _, from := range []string{`DELETE FROM people WHERE id = ?`, `DELETE FROM knocks WHERE id = ?`} {
			r, err := tx.ExecContext(ctx, from, id)
			if err != nil {
				return err
			}
			n, err := r.RowsAffected()
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

// Reject implements [core.People].
func (s *people) Reject(ctx context.Context, code string) error {
	err := s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var id string
		return found(tx.QueryRowContext(ctx, `
			UPDATE knocks SET code = '' WHERE code = ? AND code <> '' AND id <> '' AND ends > ? RETURNING id`, code, nanos(time.Now())).Scan(&id))
	})
	return wrap(err, "rejecting a pairing request")
}

const selectRequests = `SELECT id, name, address, since, code, ends, told FROM knocks `

func scanRequest(r row) (k chat.PairingRequest, err error) {
	err = r.Scan(&k.ID, &k.Name, jsonColumn{&k.Address}, timeColumn{&k.Since}, &k.Code, timeColumn{&k.Ends}, timeColumn{&k.Told})
	return k, found(err)
}

// PairingRequests implements [core.People].
func (s *people) PairingRequests(ctx context.Context) (all []chat.PairingRequest, err error) {
	err = s.read(func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, selectRequests+`WHERE code <> '' AND (ends = 0 OR ends > ?) ORDER BY seq`, nanos(time.Now()))
		if err == nil {
			all, err = collect(rows, scanRequest)
		}
		return err
	})
	return all, wrap(err, "reading pairing requests")
}

// RequestPairing implements [core.People].
func (s *people) RequestPairing(ctx context.Context, k chat.PairingRequest, r chat.PairingRule) (waiting chat.PairingRequest, tell bool, err error) {
	if err = checkText(string(k.ID), k.Name, k.Code); err == nil {
		err = s.write(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
			waiting, tell, err = requestPairing(ctx, tx, k, r)
			return err
		})
	}
	return waiting, tell, wrap(err, "saving the pairing request of %q", k.ID)
}

func requestPairing(ctx context.Context, tx *sql.Tx, k chat.PairingRequest, r chat.PairingRule) (chat.PairingRequest, bool, error) {
	now := time.Now()
	if _, err := tx.ExecContext(ctx, `DELETE FROM knocks WHERE ends <> 0 AND ends <= ?`, nanos(now)); err != nil {
		return chat.PairingRequest{}, false, err
	}
	old, err := scanRequest(tx.QueryRowContext(ctx, selectRequests+`WHERE id = ?`, k.ID))
	switch {
	case err == nil && (old.Code == "" || now.Sub(old.Told) < r.RepeatAfter):
		return old, false, nil
	case err == nil:
		old.Told = now
		_, err = tx.ExecContext(ctx, `UPDATE knocks SET told = ? WHERE id = ?`, nanos(now), k.ID)
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
		k.ID, k.Address.Connector, k.Name, toJSON(k.Address), nanos(k.Since), k.Code, nanos(k.Ends), nanos(k.Told))
	return k, err == nil, err
}

func checkPerson(p chat.Person) error {
	if p.ID == "" {
		return errors.New("a person needs an id")
	}
	return checkText(string(p.ID), p.Name, p.Address.Connector)
}
