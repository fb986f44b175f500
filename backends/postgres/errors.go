package postgres

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"parley/backends/sqlstore"
)

// errTaken and errReadOnly mean that this process or this server can't write. errSilent is the cause of contexts that
// end by patience. The last two are outcomes of commits: errRolledBack can be repeated, errUnknown can't.
var (
	errTaken      = errors.New("another gateway has claimed the database while this one could not reach it")
	errReadOnly   = errors.New("the server is a standby, or its settings make sessions read-only")
	errSilent     = errors.New("the database does not answer in time")
	errUnknown    = errors.New("the connection was lost during the commit, and it is unknown how that ended")
	errRolledBack = errors.New("the connection was lost before the commit")
)

// Codes of errors, see https://www.postgresql.org/docs/current/errcodes-appendix.html.
const (
	undefinedTable  = "42P01"
	undefinedColumn = "42703"
	lockTimeout     = "55P03"
)

// permanent is an error that does not resolve by waiting: the owner has to change something.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// reasons maps codes and classes (two characters) of errors that pass to reasons for the owner.
var reasons = map[string]string{
	"57P01": "the database is shutting down", "57P02": "the database is shutting down", "57P03": "the database is starting up",
	"57014": "the database takes too long", "55P03": "the database is busy", "40001": "the database is busy", "40P01": "the database is busy",
	"53100": "the disk of the database is full", "53200": "the database is out of memory", "53300": "the database has too many connections",
	"53": "the database has too few resources", "58": "the disk of the database fails", "25006": "the database is read-only",
	"57P04": "the database was dropped", "08": "the database can't be reached",
}

// Unavailable reports whether err can resolve without a change of the configuration, with a reason for the owner.
// Callers retry after such errors, and give up after others.
func Unavailable(err error) (reason string, ok bool) {
	var lasting permanent
	var e *pgconn.PgError
	switch {
	case errors.Is(err, errTaken):
		return "another gateway uses the database", true
	case err == nil, errors.As(err, &lasting):
		return "", false
	case errors.Is(err, errReadOnly):
		return reasons["25006"], true
	case errors.Is(err, errSilent), dialing(err) && errors.Is(err, context.DeadlineExceeded) && !untrusted(err):
		return "the database does not answer", true
	case poolerRefuses(err):
		return "", false
	case errors.As(err, &e):
		if reason, ok = reasons[e.Code]; !ok && len(e.Code) == 5 {
			reason, ok = reasons[e.Code[:2]]
		}
		return reason, ok
	case untrusted(err):
		return "", false
	case errors.Is(err, errUnknown), errors.Is(err, errRolledBack), broken(err), dialing(err):
		return reasons["08"], true
	}
	return "", false
}

// untrusted reports whether a TLS connection failed because of the server's identity or certificate. It looks like a
// failed dial, but waiting does not help.
func untrusted(err error) bool {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verify *tls.CertificateVerificationError
	var header tls.RecordHeaderError
	return errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &invalid) || errors.As(err, &verify) || errors.As(err, &header) ||
		err != nil && strings.Contains(err.Error(), "server refused TLS connection")
}

// poolerRefuses reports whether a pooler refused a setting of the session. PgBouncer does it with the code of a protocol
// violation, whose other uses can pass.
func poolerRefuses(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == "08P01" && strings.Contains(e.Message, "unsupported startup parameter")
}

// dialing reports whether no connection could be made, so that nothing was sent.
func dialing(err error) bool {
	var connecting *pgconn.ConnectError
	return errors.As(err, &connecting)
}

// broken reports whether an established connection was lost. Some libraries report it only as text, so the last test
// compares that. A context that ended is no lost connection: the statement may still run.
func broken(err error) bool {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return strings.HasPrefix(e.Code, "57P0") || strings.HasPrefix(e.Code, "08")
	}
	var n *net.OpError
	return err != nil && !dialing(err) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) &&
		(pgconn.SafeToRetry(err) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
			errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.As(err, &n) || strings.Contains(err.Error(), "conn closed"))
}

// again reports whether the same transaction can succeed if it is repeated, and surely was not committed. A unique or
// foreign key violation belongs to it: the transaction looked first, and another one has written or deleted the row
// since, so the second look finds it. A failed dial is not repeated here: the caller should learn of an outage quickly.
func again(err error) bool {
	var e *pgconn.PgError
	switch {
	case errors.Is(err, errUnknown):
		return false
	case errors.Is(err, errRolledBack), errors.Is(err, sqlstore.ErrTaken):
		return true
	case dialing(err):
		return false
	case errors.As(err, &e):
		switch e.Code {
		case "40001", "40P01", // others were in the way
			"23505", "23503": // others have written the same since, or deleted the row that this belongs to
			return true
		}
	}
	return broken(err)
}

// readOnly reports whether the server is a standby, or has become one.
func readOnly(err error) bool {
	var e *pgconn.PgError
	return errors.Is(err, errReadOnly) || errors.As(err, &e) && e.Code == "25006"
}

const (
	lacksRight  = "the user lacks a right: %w; make it the owner of the database, or GRANT CREATE ON SCHEMA to it"
	lacksSchema = "no schema for the tables: %w; create the schema that search_path names"
)

// explain adds advice for the owner to an error that lasts. Other errors are returned as they are.
func explain(err error) error {
	var e *pgconn.PgError
	if untrusted(err) {
		return fmt.Errorf("no trusted connection: %w; check sslmode and sslrootcert in store, and the certificate of the server", err)
	}
	if !errors.As(err, &e) {
		return err
	}
	if poolerRefuses(err) {
		return fmt.Errorf("the pooler refuses the settings of the session: %w; add %s to its ignore_startup_parameters, or connect directly", err,
			strings.Join(slices.Sorted(maps.Keys(settings())), ", "))
	}
	switch e.Code {
	case "42704":
		// A server before version 14 refuses the login with a setting that it lacks, before its version can be read.
		if strings.Contains(e.Message, "client_connection_check_interval") {
			return fmt.Errorf("the server is older than PostgreSQL 14; version 14 or later is needed: %w", err)
		}
	case "28P01", "28000":
		return fmt.Errorf("the server rejects the login: %w; check the user and the password in store, and pg_hba.conf of the server", err)
	case "3D000":
		return fmt.Errorf("the database does not exist: %w; create it with createdb", err)
	case "42501":
		return fmt.Errorf(lacksRight, err)
	case "3F000":
		return fmt.Errorf(lacksSchema, err)
	}
	return err
}

// trouble holds the last error of the database, nil after a successful write. Ping reports it, so that a readiness
// probe fails at once while nothing can be stored. It is safe for concurrent use.
type trouble struct {
	mu  sync.Mutex
	err error
}

// set stores err if it is nil or an error of the database that can pass. Errors of the request itself, such as a
// missing row, say nothing about the database.
func (t *trouble) set(err error) {
	if _, ok := Unavailable(err); err != nil && !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
}

// get returns why nothing can be stored now, or nil.
func (t *trouble) get() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}
