package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// How long a check takes at most. A server of several that is off must leave time for the others, and the whole must end
// before callers give up, which is after 20 s.
const (
	checkConnect = 3 * time.Second  // to connect to one server
	checkAll     = 15 * time.Second // to connect to any of them
	checkQueries = 3 * time.Second  // for all that is read
)

// Describe tests whether the database at url can be used (the error is the reason if not), and returns a description
// for the owner and the id of the store, which is empty if the database is. It changes nothing: it describes the
// migration of a start instead of making it. It waits for no server: where a start would wait, it returns the reason at
// once, and a silent server has a few seconds.
func Describe(ctx context.Context, url string) (text, id string, err error) {
	text, id, err = describe(ctx, url)
	if reason, waits := Unavailable(err); waits {
		err = fmt.Errorf("%s: %w", reason, err)
	}
	return text, id, wrap(explain(err), "trying the database")
}

// describe uses one connection without a pool: a pool that is closed waits for the connection that it makes.
func describe(ctx context.Context, url string) (text, id string, err error) {
	c, err := configure(url, Options{})
	if err != nil {
		return "", "", err
	}
	c.ConnConfig.ConnectTimeout = min(c.ConnConfig.ConnectTimeout, checkConnect)
	connecting, cancel := context.WithTimeoutCause(ctx, checkAll, errSilent)
	defer cancel()
	conn, err := pgx.ConnectConfig(connecting, c.ConnConfig)
	if err != nil {
		return "", "", causeOf(connecting, err)
	}
	defer conn.Close(context.WithoutCancel(connecting)) //nolint:errcheck // nothing was written; it is bounded by pgx
	reading, cancel := context.WithTimeoutCause(ctx, checkQueries, errSilent)
	defer cancel()
	text, id, err = report(reading, conn)
	return text, id, causeOf(reading, err)
}

// report describes the database of a connection.
func report(ctx context.Context, conn *pgx.Conn) (text, id string, err error) {
	if err := durable(ctx, conn); err != nil {
		return "", "", err
	}
	if err := checkServer(ctx, conn); err != nil {
		return "", "", err
	}
	knows, err := newest()
	if err != nil {
		return "", "", err
	}
	has, oldest, err := versions(ctx, conn)
	if err == nil {
		err = usable(ctx, conn, oldest, knows)
	}
	if err == nil && has > 0 {
		id, err = identify(ctx, conn)
	}
	if err == nil && has < knows {
		err = checkRights(ctx, conn)
	}
	if err != nil {
		return "", "", err
	}
	text = fmt.Sprintf("PostgreSQL at %s, database %s", conn.Config().Host, conn.Config().Database)
	switch {
	case has == 0:
		text += "; it is empty, and gets its tables when the gateway starts"
	case has < knows:
		text += fmt.Sprintf("; its tables are migrated from version %d to %d when the gateway starts, or by gateway migrate", has, knows)
	}
	warning, err := unsafeSettings(ctx, conn)
	if warning != "" {
		text += ". Warning: " + warning
	}
	return text, id, err
}

// checkRights returns an error if the user can't create tables.
func checkRights(ctx context.Context, conn *pgx.Conn) error {
	var schema *string // nil if there is none of search_path
	var create *bool
	err := conn.QueryRow(ctx, `SELECT current_schema(), has_schema_privilege(current_schema(), 'CREATE')`).Scan(&schema, &create)
	switch {
	case err != nil:
		return err
	case schema == nil || create == nil:
		return fmt.Errorf(lacksSchema, errors.New("search_path names none that exists"))
	case !*create:
		return fmt.Errorf(lacksRight, fmt.Errorf("it can't create tables in the schema %s", *schema))
	}
	return nil
}
