package postgres

import (
	"strings"
	"testing"

	"parley/backends/postgres/postgrestest"
)

// DI-02: the server dies under load, and its standby takes over. The store, whose address names both, goes on with the standby without
// being opened again, and everything that was accepted is there.
func TestStandbyTakesOver(t *testing.T) {
	t.Parallel()
	first := postgrestest.Start(t)
	at := first.Create(t, "")
	open(t, at, Options{Several: true}) // makes the tables
	standby := first.Standby(t)
	both := strings.Replace(at, first.Address(), first.Address()+","+standby.Address(), 1) + "&target_session_attrs=read-write&connect_timeout=1"
	s := open(t, both, Options{Several: true})
	l := acceptAll(t, s, 4)
	l.more(t, 30)
	first.Kill()
	standby.Promote(t)
	l.more(t, 30)
	l.check(t)
}
