package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// oldestServer is PostgreSQL 14 in the form of server_version_num: client_connection_check_interval exists since then.
// The others are defaults; the address can set them too.
const (
	oldestServer   = 140000
	connectTimeout = 10 * time.Second
	connections    = 10
)

// settings returns the parameters of every session. Parameters in the address take precedence. The timeouts bound what
// a lost client or a stuck statement can hold up; they are longer than patience, so they only act when this process
// can't.
func settings() map[string]string {
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	return map[string]string{
		"application_name":                    fmt.Sprintf("parley, process %d on %s", os.Getpid(), host),
		"statement_timeout":                   "30s",
		"lock_timeout":                        "15s",
		"idle_in_transaction_session_timeout": "60s",
		"client_connection_check_interval":    "10s", // a statement of a process that is gone is canceled, which frees its locks
		// The server gives up a silent client after 25 s (10 s, then 3 probes with 5 s each). Until then, the locks of
		// a machine that lost its power hold up the others.
		"tcp_keepalives_idle":           "10",
		"tcp_keepalives_interval":       "5",
		"tcp_keepalives_count":          "3",
		"default_transaction_isolation": "read committed", // advisory locks order the writes of a room; each statement sees all earlier commits
	}
}

// configure returns the configuration of the pool from the address and the options, with defaults.
func configure(url string, o Options) (*pgxpool.Config, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, permanent{err}
	}
	for name, value := range settings() {
		if c.ConnConfig.RuntimeParams[name] == "" {
			c.ConnConfig.RuntimeParams[name] = value
		}
	}
	// A longer timeout in the address is shortened: closing a pool waits for the connections that it makes.
	if c.ConnConfig.ConnectTimeout == 0 || c.ConnConfig.ConnectTimeout > connectTimeout {
		c.ConnConfig.ConnectTimeout = connectTimeout
	}
	switch {
	case o.Connections > 0:
		c.MaxConns = int32(o.Connections)
	case !strings.Contains(url, "pool_max_conns"):
		c.MaxConns = connections
	}
	// Checked on every connection: after a failover, a new one can reach another server.
	c.AfterConnect = durable
	return c, nil
}

// connect returns a pool of connections to a server that can be used, after it has reached it once.
func connect(ctx context.Context, url string, o Options) (*pgxpool.Pool, error) {
	c, err := configure(url, o)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := checkServer(ctx, pool); err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}

// durable sets synchronous_commit to on if it is off, so that a commit returns after it is on disk. Other settings are
// left as the owner of the database chose them. A server that doesn't report its version, as PostgreSQL always does, is
// refused.
func durable(ctx context.Context, c *pgx.Conn) error {
	if c.PgConn().ParameterStatus("server_version") == "" {
		return errors.New("this is no PostgreSQL server")
	}
	_, err := c.Exec(ctx, `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`)
	return err
}

// checkServer returns an error if the server is too old, which is permanent, or a standby, which can pass.
func checkServer(ctx context.Context, q querier) error {
	var version int
	var readOnly bool
	err := q.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('transaction_read_only')::boolean`).
		Scan(&version, &readOnly)
	switch {
	case err != nil:
		return err
	case version < oldestServer:
		return permanent{fmt.Errorf("the server is PostgreSQL %d; version 14 or later is needed", version/10000)}
	case readOnly:
		return errReadOnly
	}
	return nil
}

// Warning returns a warning about settings of the server that can lose accepted messages, or "". It does not look at
// synchronous_commit, which durable sets for each session.
func (s *database) Warning(ctx context.Context) (text string, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		text, err = unsafeSettings(ctx, q)
		return err
	})
	return text, wrap(err, "reading the settings of the server")
}

// unsafeSettings returns a warning if fsync or full_page_writes are off: after a power cut the database then lacks what
// was committed, or is damaged (https://www.postgresql.org/docs/current/runtime-config-wal.html).
func unsafeSettings(ctx context.Context, q querier) (string, error) {
	var off []string
	err := q.QueryRow(ctx, `SELECT coalesce(array_agg(name::text ORDER BY name), '{}') FROM pg_settings
		WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off'`).Scan(&off)
	if err != nil || len(off) == 0 {
		return "", err
	}
	verb := "is"
	if len(off) > 1 {
		verb = "are"
	}
	return fmt.Sprintf("%s %s off on the PostgreSQL server: a power cut can lose accepted messages; set to on", strings.Join(off, " and "), verb), nil
}

// identify returns the id of the database. It refuses one that rows are being moved to: it has only a part of them.
func identify(ctx context.Context, q querier) (id string, err error) {
	var moving string
	if err := q.QueryRow(ctx, `SELECT id, moving FROM identity`).Scan(&id, &moving); err != nil {
		return "", err
	}
	if moving != "" {
		return "", permanent{errMoving}
	}
	return id, nil
}

var errMoving = errors.New("another store is being moved here, and that has not ended; run gateway migrate again")
