package main_test

import (
	"strings"
	"testing"
)

// A key is printed once, listed without its text, and gone when it is revoked; without a gateway too.
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	keys := func(code int, want string, args ...string) string {
		t.Helper()
		c := command(t, nil, append([]string{"keys"}, args...)...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if got := status(t, err); got != code || !strings.Contains(string(out), want) {
			t.Fatalf("keys %v: %d %q; want %d, %q", args, got, out, code, want)
		}
		return string(out)
	}
	keys(0, "There are no API keys", "list")
	text, _, _ := strings.Cut(keys(0, "parley_", "create", "our app", "--scope", "read", "--days", "2"), "\n")
	list := keys(0, "our app", "list")
	if strings.Contains(list, text) || !strings.Contains(list, "read") {
		t.Errorf("listed is %q", list)
	}
	id := strings.Fields(strings.Split(list, "\n")[1])[0]
	keys(0, "is revoked", "revoke", id)
	keys(1, "there is no key", "revoke", id)
	keys(0, "There are no API keys", "list")
	keys(1, "--days is not between", "create", "x", "--days", "0")
}
