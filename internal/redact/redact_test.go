package redact

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

const testKey = "sk-test-0123456789abcdefghijklmnopqrstuvwxyz"

func TestRedact(t *testing.T) {
	r := New(testKey, "ollama", "x", "")
	tests := map[string]string{
		"":                                     "",
		"no secret here":                       "no secret here",
		"key " + testKey + ".":                 "key ***.",
		testKey:                                "***",
		testKey + testKey:                      "***",
		"a " + testKey[3:20] + " b " + testKey: "a *** b ***",
		"ollama has no llama; xylophone":       "*** has no llama; xylophone",
		"sk-te****wxyz (a server's own asterisks)": "sk-te****wxyz (a server's own asterisks)",
	}
	for text, want := range tests {
		if got := r.Clean(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// SE-02: the values of settings are hidden, and what errors need to be understood is not.
func TestSettings(t *testing.T) {
	r := Settings([]string{
		"Bearer " + testKey, "/srv/data/projects/wiki", "postgres://bob:p4ssw0rd-of-bob@db.example.org:5432/wiki?sslkey=k3y-0f-the-store", "hunter2", "one two three four",
	}, "s1gning-s3cret-of-the-endpoint")
	for text, want := range map[string]string{
		"no " + testKey[:20]:                       "no ***",
		"open /srv/data/projects/other: not there": "open /srv/data/projects/other: not there",
		"in /srv/data/projects/wiki":               "in ***",
		"dial db.example.org:5432: refused":        "dial db.example.org:5432: refused",
		"p4ssw0rd-of-bob or k3y-0f-the-store":      "*** or ***",
		"hunter2 is wrong, one is not":             "*** is wrong, one is not",
		"s1gning-s3cret-of-the-endpoint":           "***",
	} {
		if got := r.Clean(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	if got := (Redactor{}).Clean("a text"); got != "a text" {
		t.Error(got)
	}
	if why := errors.New("no secret"); r.Error(why) != why || r.Error(nil) != nil {
		t.Error("an error without secrets is another one")
	}
	if why := r.Error(fmt.Errorf("read: %w", errors.New("hunter2 is wrong"))); why.Error() != "read: *** is wrong" || errors.Unwrap(why) != nil {
		t.Errorf("%v", why)
	}
	u, err := url.Parse("https://host/?a=x%2Fyz0&b=c")
	if got := strings.Join(Address(u), " "); err != nil || !strings.Contains(got, "x%2Fyz0") || !strings.Contains(got, "x/yz0") {
		t.Error(got)
	}
}
