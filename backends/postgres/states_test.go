package postgres

import (
	"strings"
	"testing"

	"parley/backends/postgres/postgrestest"
)

// A server before PostgreSQL 14 is refused for good, and the error says which version is needed: also where it refuses
// the login because it lacks a setting, and where a pooler has dropped that.
func TestOldServerIsRefused(t *testing.T) {
	for name, pooler := range map[string]bool{"directly": false, "through a pooler": true} {
		t.Run(name, func(t *testing.T) {
			server := postgrestest.Old(t, pooler)
			_, err := Open(t.Context(), server.URL(), Options{})
			if reason, waits := Unavailable(err); err == nil || waits || !strings.Contains(err.Error(), "version 14 or later is needed") {
				t.Errorf("opened with %v; it would wait: %v, %q", err, waits, reason)
			}
			if _, _, err := Describe(t.Context(), server.URL()); err == nil || !strings.Contains(err.Error(), "version 14 or later is needed") {
				t.Errorf("the check says %v", err)
			}
		})
	}
}

// PgBouncer refuses settings that it doesn't know with a code of the class of lost connections. Waiting would not help.
func TestPoolerThatRefusesSettings(t *testing.T) {
	server := postgrestest.Refusing(t, "08P01", "unsupported startup parameter: lock_timeout")
	_, err := Open(t.Context(), server.URL(), Options{})
	if reason, waits := Unavailable(err); err == nil || waits || !strings.Contains(err.Error(), "ignore_startup_parameters") {
		t.Errorf("opened with %v; it would wait: %v, %q", err, waits, reason)
	}
}
