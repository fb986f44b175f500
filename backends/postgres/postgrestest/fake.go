package postgrestest

import (
	"context"
	"encoding/binary"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"parley/internal/require"
)

// Fake speaks as much of PostgreSQL's protocol as the states need that a real server of one version can't be brought
// into. It runs until the end of the test.
type Fake struct {
	addr  string
	serve func(*pgproto3.Backend, *pgproto3.StartupMessage)

	mu    sync.Mutex
	conns []net.Conn
}

// URL returns the address of the fake.
func (f *Fake) URL() string { return "postgres://parley:secret@" + f.addr + "/test?sslmode=disable" }

// Refusing returns a server that refuses every login with an error of PostgreSQL.
func Refusing(t testing.TB, code, message string) *Fake {
	return listen(t, func(b *pgproto3.Backend, _ *pgproto3.StartupMessage) { refuse(b, code, message) })
}

// Silent returns a server that accepts connections and says nothing. With login it accepts logins, and answers nothing
// after them.
func Silent(t testing.TB, login bool) *Fake {
	return listen(t, func(b *pgproto3.Backend, _ *pgproto3.StartupMessage) {
		if login {
			welcome(b, "15.1")
		}
		for {
			if _, err := b.Receive(); err != nil {
				return
			}
		}
	})
}

// Old returns PostgreSQL 13. Like the real one it refuses logins with settings that it doesn't have, unless a pooler
// drops them.
func Old(t testing.TB, pooler bool) *Fake {
	return listen(t, func(b *pgproto3.Backend, start *pgproto3.StartupMessage) {
		if _, set := start.Parameters["client_connection_check_interval"]; set && !pooler {
			refuse(b, "42704", `unrecognized configuration parameter "client_connection_check_interval"`)
			return
		}
		welcome(b, "13.14 (Debian 13.14-0+deb11u1)")
		for {
			m, err := b.Receive()
			if err != nil {
				return
			}
			answer(b, m)
			if b.Flush() != nil {
				return
			}
		}
	})
}

func listen(t testing.TB, serve func(*pgproto3.Backend, *pgproto3.StartupMessage)) *Fake {
	t.Helper()
	l := require.Value(new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0"))(t)
	f := &Fake{addr: l.Addr().String(), serve: serve}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			f.mu.Lock()
			f.conns = append(f.conns, conn)
			f.mu.Unlock()
			running.Go(func() { f.handle(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		f.mu.Lock()
		for _, c := range f.conns {
			_ = c.Close()
		}
		f.mu.Unlock()
		running.Wait()
	})
	return f
}

func (f *Fake) handle(conn net.Conn) {
	defer conn.Close()
	b := pgproto3.NewBackend(conn, conn)
	first, err := b.ReceiveStartupMessage()
	if start, ok := first.(*pgproto3.StartupMessage); err == nil && ok {
		f.serve(b, start)
	}
}

func refuse(b *pgproto3.Backend, code, message string) {
	b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: code, Message: message})
	_ = b.Flush() // the client has gone
}

// welcome accepts a login.
func welcome(b *pgproto3.Backend, version string) {
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ParameterStatus{Name: "server_version", Value: version})
	b.Send(&pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"})
	b.Send(&pgproto3.ParameterStatus{Name: "standard_conforming_strings", Value: "on"})
	b.Send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte{0, 0, 0, 1}})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	_ = b.Flush() // a client that has gone is noticed by the next read
}

// answer answers a message of a session. Each statement that is described has one row: the number of the version, and
// false for whether the session is read-only.
func answer(b *pgproto3.Backend, m pgproto3.FrontendMessage) {
	const int4, boolean = 23, 16
	switch m.(type) {
	case *pgproto3.Query:
		b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 0")})
		b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	case *pgproto3.Parse:
		b.Send(&pgproto3.ParseComplete{})
	case *pgproto3.Describe:
		b.Send(&pgproto3.ParameterDescription{})
		b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{
			{Name: []byte("version"), DataTypeOID: int4, DataTypeSize: 4}, {Name: []byte("read_only"), DataTypeOID: boolean, DataTypeSize: 1},
		}})
	case *pgproto3.Bind:
		b.Send(&pgproto3.BindComplete{})
	case *pgproto3.Execute:
		b.Send(&pgproto3.DataRow{Values: [][]byte{binary.BigEndian.AppendUint32(nil, 130014), {0}}})
		b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
	case *pgproto3.Close:
		b.Send(&pgproto3.CloseComplete{})
	case *pgproto3.Sync:
		b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	}
}
