package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"parley/backends/record"
	"parley/backends/sqlstore"
	"parley/core/chat"
)

// leases are named rights that one process at a time holds, such as the connection of a bot to its platform. They are
// rows of the database, not keys of Redis, so that a write can check in its own transaction that its process still
// holds the lease: see docs/engineering/adr/0011-leases-stand-in-the-database.md.
type leases struct{ *database }

// Lease gives name to owner until ttl from now by the clock of the database, or extends it. It returns the token, which
// rises with each new holder, and also if the same owner's lease had ended: another may have held it in between. It
// returns [chat.ErrBusy] while another owner holds the name. One statement compares and writes, so of several owners
// that try, one succeeds; excluded.ends - $3 is the present.
func (s *leases) Lease(ctx context.Context, name, owner string, ttl time.Duration) (token int64, err error) {
	err = record.CheckText(name, owner)
	if err == nil {
		err = s.write(ctx, nil, func(ctx context.Context, q querier) error {
			err := q.QueryRow(ctx, `
				WITH present AS (SELECT `+serverNow+` AS now)
				INSERT INTO leases AS held (name, owner, token, ends) SELECT $1, $2, 1, now + $3 FROM present
				ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, ends = excluded.ends,
					token = held.token + CASE WHEN held.owner = excluded.owner AND held.ends > excluded.ends - $3 THEN 0 ELSE 1 END
				WHERE held.owner = excluded.owner OR held.ends <= excluded.ends - $3
				RETURNING token`, name, owner, int64(ttl)).Scan(&token)
			if errors.Is(err, pgx.ErrNoRows) {
				return chat.ErrBusy
			}
			return err
		})
	}
	return token, wrap(err, "the lease %q", name)
}

// EndLease gives name back if owner holds it, so that another need not wait for its end. The row stays, as it has the
// token.
func (s *leases) EndLease(ctx context.Context, name, owner string) error {
	err := s.write(ctx, nil, func(ctx context.Context, q querier) error {
		_, err := q.Exec(ctx, `UPDATE leases SET ends = 0 WHERE name = $1 AND owner = $2`, name, owner)
		return err
	})
	return wrap(err, "giving back the lease %q", name)
}

// Held returns the owners of the leases that have not ended, by name: of the lease with the name, and of those below it.
func (s *leases) Held(ctx context.Context, name string) (map[string]string, error) {
	held := map[string]string{}
	err := record.CheckText(name)
	if err == nil {
		err = s.read(ctx, func(ctx context.Context, q querier) error {
			clear(held) // of an attempt before
			rows, err := q.Query(ctx, `
				SELECT name, owner FROM leases WHERE (name = $1 OR starts_with(name, $1 || '/')) AND ends > `+serverNow, name)
			if err != nil {
				return err
			}
			var lease, owner string
			_, err = pgx.ForEachRow(rows, []any{&lease, &owner}, func() error {
				held[lease] = owner
				return nil
			})
			return err
		})
	}
	return held, wrap(err, "reading who holds %q", name)
}

// KeepUnder is Keep for the holder of a lease. It returns [chat.ErrBusy] unless token is that of the latest holder: a
// process that was paused can believe that it holds a lease which another has. The row of the lease is locked for
// sharing, so no new holder can come between the check and the commit.
func (s *leases) KeepUnder(ctx context.Context, lease string, token int64, name, value string) error {
	err := record.CheckText(name, value)
	if err == nil {
		err = s.write(ctx, nil, func(ctx context.Context, q querier) error {
			var latest int64
			err := q.QueryRow(ctx, `SELECT token FROM leases WHERE name = $1 FOR SHARE`, lease).Scan(&latest)
			if errors.Is(err, pgx.ErrNoRows) || err == nil && latest != token {
				return chat.ErrBusy
			} else if err != nil {
				return err
			}
			return sqlstore.Keep(ctx, sharedConn{q}, name, value)
		})
	}
	return wrap(err, "saving %q", name)
}
