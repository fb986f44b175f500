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

const (
	oldestServer   = 140000
	connectTimeout = 10 * time.Second
	connections    = 10
)

// Check reports what is wrong with an address, without connecting to it.
func Check(url string) error {
	_, err := pgxpool.ParseConfig(url)
	return err
}

// settings are parameters of every session. The address can set others.
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
		"client_connection_check_interval":    "10s", // a process that is gone frees its locks
		"tcp_keepalives_idle":                 "10",
		"tcp_keepalives_interval":             "5",
		"tcp_keepalives_count":                "3",
		"default_transaction_isolation":       "read committed", // rooms are locked; every statement sees what was before it
	}
}

func connect(ctx context.Context, url string, o Options) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, permanent{err}
	}
	for name, value := range settings() {
		if c.ConnConfig.RuntimeParams[name] == "" {
			c.ConnConfig.RuntimeParams[name] = value
		}
	}
	if c.ConnConfig.ConnectTimeout == 0 {
		c.ConnConfig.ConnectTimeout = connectTimeout
	}
	switch {
	case o.Connections > 0:
		c.MaxConns = int32(o.Connections)
	case !strings.Contains(url, "pool_max_conns"):
		c.MaxConns = connections
	}
	c.AfterConnect = durable
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

// durable makes a session wait for the disk, unless it waits for more already.
func durable(ctx context.Context, c *pgx.Conn) error {
	if c.PgConn().ParameterStatus("server_version") == "" {
		return errors.New("this is no PostgreSQL server")
	}
	_, err := c.Exec(ctx, `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`)
	return err
}

func checkServer(ctx context.Context, pool *pgxpool.Pool) error {
	var version int
	var readOnly bool
	err := pool.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('transaction_read_only')::boolean`).
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

// Warning says which settings of the server can lose what was accepted; "" for none. A session's own synchronous_commit is on, see durable.
func (s *database) Warning(ctx context.Context) (text string, err error) {
	err = s.read(ctx, func(ctx context.Context, q querier) error {
		text, err = unsafeSettings(ctx, q)
		return err
	})
	return text, wrap(err, "reading the settings of the server")
}

// unsafeSettings names those of fsync and full_page_writes that are off: after a power cut the database then lacks what was committed, or is
// damaged (https://www.postgresql.org/docs/current/runtime-config-wal.html).
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

func identify(ctx context.Context, pool *pgxpool.Pool) (id string, err error) {
	var moving string
	if err := pool.QueryRow(ctx, `SELECT id, moving FROM identity`).Scan(&id, &moving); err != nil {
		return "", err
	}
	if moving != "" {
		return "", permanent{errMoving}
	}
	return id, nil
}

var errMoving = errors.New("another store is being moved here, and that has not ended; run gateway migrate again")

// Describe tests whether the database at url can be used, and describes it. It changes nothing.
func Describe(ctx context.Context, url string) (string, error) {
	text, err := describe(ctx, url)
	return text, wrap(explain(err), "trying the database")
}

func describe(ctx context.Context, url string) (string, error) {
	pool, err := connect(ctx, url, Options{Connections: 1})
	if err != nil {
		return "", err
	}
	defer pool.Close()
	knows, err := newest()
	if err != nil {
		return "", err
	}
	has, oldest, err := versions(ctx, pool)
	if err == nil {
		err = usable(has, oldest, knows)
	}
	if err != nil {
		return "", err
	}
	c := pool.Config().ConnConfig
	text := fmt.Sprintf("PostgreSQL at %s, database %s", c.Host, c.Database)
	switch {
	case has == 0:
		text += "; it is empty, and gets its tables when the gateway starts"
	case has < knows:
		text += fmt.Sprintf("; its tables are migrated from version %d to %d when the gateway starts, or by gateway migrate", has, knows)
	}
	warning, err := unsafeSettings(ctx, pool)
	if warning != "" {
		text += ". Warning: " + warning
	}
	return text, err
}
