package config

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	goredis "github.com/redis/go-redis/v9"
)

// A password that the driver would read as something else is refused with a hint, and no part of it is shown: neither by
// the error, nor by the driver that would name it as a host. Any other address is accepted as it is.
func TestPasswordsInAddresses(t *testing.T) {
	for address, ok := range map[string]bool{
		"postgres://u:pa@secret@db/x":                    false,
		"postgres://u:pa/secret@db/x":                    false,
		"postgres://u:pa%secret@db/x":                    false,
		"postgres://u:pa secret@db/x":                    false,
		"postgres://u:p@a?secret@db/x":                   false,
		"postgres://u:p@a/secret@db/x":                   false,
		"redis://u:pa#secret@db/0":                       false,
		"redis://u:pa/secret@db/0":                       false,
		"rediss://u:pa?secret@db/0":                      false,
		"redis+sentinel://u:p@a#secret@db/main":          false,
		"postgres://u:pa%40ss@db/x":                      true,
		"postgres://u:pa#ss@db/x":                        true,
		"postgres://u:pa?ss@db/x":                        true,
		"postgres://u:p@db/x?application_name=a@b":       true,
		"postgres://u:p@db,other:5433/x?sslmode=disable": true,
		"postgres:///x?host=/run/postgresql":             true,
		"redis://u:pa@ss@db/0":                           true,
		"redis://db:6379/0":                              true,
	} {
		key := "store"
		if strings.HasPrefix(address, "redis") {
			key = "shared"
		}
		_, err := Parse("config.yaml", []byte(key+": \""+address+"\"\n"), t.TempDir(), environment(nil), platforms...)
		if ok != (err == nil) {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if err != nil && (!strings.Contains(err.Error(), "%40") || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: %v", address, err)
		}
		host := ""
		switch {
		case ok && key == "store":
			c, err := pgxpool.ParseConfig(address)
			if err != nil {
				t.Errorf("%s: %v", address, err)
			} else if err == nil {
				host = c.ConnConfig.Host
			}
		case ok:
			o, err := goredis.ParseURL(address)
			if err != nil {
				t.Errorf("%s: %v", address, err)
			} else {
				host = o.Addr
			}
		}
		if strings.Contains(host, "@") {
			t.Errorf("%s: the host is %s", address, host)
		}
	}
}
