package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"parley/backends/record"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrating is the advisory lock that a process holds while it migrates.
var migrating = keyOf("migrate", "")

// migrate brings the tables to this program's version. Newer tables are used as they are, if they allow it: during a
// rolling deployment both versions run, and the newer one has migrated already. The column identity.oldest is the
// oldest version of programs that can use them; a migration that would break earlier programs raises it, and sets
// identity.release to the release that it comes with.
func migrate(ctx context.Context, pool *pgxpool.Pool) error {
	knows, err := newest()
	if err != nil {
		return err
	}
	switch has, oldest, err := versions(ctx, pool); {
	case err != nil:
		return fmt.Errorf("reading the version of the tables: %w", err)
	case has < knows:
		return upgrade(ctx, pool)
	default:
		return usable(ctx, pool, oldest, knows)
	}
}

// usable returns an error if this program, which knows the migrations up to knows, can't use the tables, because they need those up to
// oldest.
func usable(ctx context.Context, q querier, oldest, knows int64) error {
	if oldest <= knows {
		return nil
	}
	var release string
	err := q.QueryRow(ctx, `SELECT release FROM identity`).Scan(&release)
	if e, ok := errors.AsType[*pgconn.PgError](err); err != nil && (!ok || e.Code != undefinedColumn) {
		return fmt.Errorf("reading the oldest release that can use the tables: %w", err)
	}
	return permanent{record.NewerTables(release, oldest, knows)}
}

// newest returns the number of the last migration that this program has.
func newest() (last int64, err error) {
	all, err := fs.ReadDir(migrations, "migrations")
	for _, entry := range all {
		n, bad := goose.NumericComponent(entry.Name())
		err = errors.Join(err, bad)
		last = max(last, n)
	}
	return last, err
}

// versions returns the version of the tables, and the oldest version that a program must know to use them; zeros for an
// empty database.
func versions(ctx context.Context, q querier) (has, oldest int64, err error) {
	err = q.QueryRow(ctx, `SELECT max(version_id) FROM goose_db_version WHERE is_applied`).Scan(&has)
	if err == nil && has > 0 {
		err = q.QueryRow(ctx, `SELECT oldest FROM identity`).Scan(&oldest)
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == undefinedTable {
		return 0, 0, nil // an empty database
	}
	return has, oldest, err
}

// upgrade runs the missing migrations. Replicas that start together would run the same ones at once, so one has the
// lock; the others wait for it and then find nothing to do.
func upgrade(ctx context.Context, pool *pgxpool.Pool) error {
	c, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	if _, err := c.Exec(ctx, `SELECT pg_advisory_lock($1)`, migrating); err != nil {
		return fmt.Errorf("waiting for another process that migrates: %w", err)
	}
	// The lock belongs to the session, and the session goes back to the pool, so the lock must be released explicitly.
	defer c.Exec(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, migrating) //nolint:errcheck // ends with the session too
	steps, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close() //nolint:errcheck // it has no connections of its own
	p, err := goose.NewProvider(goose.DialectPostgres, db, steps, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("reading the migrations: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrating the tables: %w", err)
	}
	return nil
}
