package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"parley/core/chat"
)

// A message to the owners is checked, bounded, and has the same key when it is sent again; another visitor's has not.
func TestContact(t *testing.T) {
	var passed []Contact
	var fails error
	s := newSite(t, func(o *Options) {
		o.Contact = func(_ context.Context, c Contact) error {
			passed = append(passed, c)
			return fails
		}
	})
	ada, eve := account(t, "ada", nil), account(t, "eve", nil)
	const good = `{"address":"ada@example.org","text":"Call me.","clientMessageId":"m"}`
	for _, test := range []struct {
		token, body string
		fails       error
		status      int
		code        string
	}{
		{ada, good, nil, http.StatusOK, ""},
		{ada, good, nil, http.StatusOK, ""},
		{eve, good, nil, http.StatusOK, ""},
		{ada, `{"address":" \n","text":"Call me."}`, nil, http.StatusBadRequest, "BAD_REQUEST"},
		{ada, `{"address":"ada@example.org"}`, nil, http.StatusBadRequest, "BAD_REQUEST"},
		{ada, `{"address":"` + strings.Repeat("é", 201) + `","text":"x"}`, nil, http.StatusRequestEntityTooLarge, "TOO_LARGE"},
		{ada, `{"address":"a","text":"` + strings.Repeat("é", 2001) + `"}`, nil, http.StatusRequestEntityTooLarge, "TOO_LARGE"},
		{ada, `{"address":"a","text":"` + strings.Repeat("é", 20_000) + `"}`, nil, http.StatusRequestEntityTooLarge, "TOO_LARGE"},
		{ada, `[]`, nil, http.StatusBadRequest, "BAD_REQUEST"},
		{ada, good, chat.ErrUnreached, http.StatusServiceUnavailable, "UNAVAILABLE"},
		{ada, good, errors.New("the disk is full"), http.StatusServiceUnavailable, "UNAVAILABLE"},
		{"", `{"address":"a\u0000\nb","text":"  x\u202e  "}`, nil, http.StatusOK, ""},
	} {
		fails = test.fails
		status, reply := s.ask(http.MethodPost, "/api/contact", test.token, test.body)
		if code, _ := reply["code"].(string); status != test.status || code != test.code {
			t.Errorf("%.60s: %d %v", test.body, status, reply)
		}
	}
	if len(passed) != 6 || passed[0] != passed[1] || passed[0].Key == passed[2].Key {
		t.Fatalf("passed on %+v", passed)
	}
	if last := passed[5]; last.ReplyTo != "a b" || last.Text != "x" || strings.Contains(last.Key, "m") && len(last.Key) != 32 {
		t.Errorf("passed on %+v", last)
	}
}

// Messages to the owners are limited for a visitor, for an address, and for all. Those that failed don't count.
func TestContactLimits(t *testing.T) {
	var fails error
	passed := 0
	s := newSite(t, func(o *Options) {
		o.Contact = func(context.Context, Contact) error {
			passed++
			return fails
		}
	})
	leave := func(token, address string) int {
		status, _ := s.ask(http.MethodPost, "/api/contact", token, `{"address":"a","text":"b"}`, "X-Forwarded-For: "+address)
		return status
	}
	ada := account(t, "ada", nil)
	fails = errors.New("away")
	for range 2 * contactsPerHour {
		leave(ada, "")
	}
	fails, passed = nil, 0
	for range 2 * contactsPerHour {
		leave(ada, "")
	}
	if passed != contactsPerHour {
		t.Errorf("%d messages of a visitor were passed on", passed)
	}
	for range 2 * contactsOfAll {
		leave(account(t, newID(), nil), "")
	}
	if passed != contactsOfAll {
		t.Errorf("%d messages of all were passed on", passed)
	}
}
