package web

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/connectors/connectortest"
	"parley/core/chat"
	"parley/internal/require"
)

// SE-20: whichever way the id of a conversation reaches the log, it stands there as a hash, the same one each time.
func TestHideConversations(t *testing.T) {
	id := newID()
	room := roomOf(id)
	err := fmt.Errorf("accept %s/m1: %w", room, errors.New("disk full"))
	for name, write := range map[string]func(*slog.Logger){
		"a message":       func(l *slog.Logger) { l.Info("about " + string(room)) },
		"a string":        func(l *slog.Logger) { l.Info("x", "room", string(room)) },
		"a room":          func(l *slog.Logger) { l.Info("x", "room", room) },
		"a run":           func(l *slog.Logger) { l.Info("x", "run", chat.RunID(string(room)+"#3")) },
		"an error":        func(l *slog.Logger) { l.Error("x", "err", err) },
		"an address":      func(l *slog.Logger) { l.Info("x", "path", "/api/conversations/"+id+"/messages") },
		"a group":         func(l *slog.Logger) { l.Info("x", slog.Group("of", "room", room)) },
		"what is with it": func(l *slog.Logger) { l.With("room", room).WithGroup("g").Info("x", "n", 1) },
		"a struct":        func(l *slog.Logger) { l.Info("x", "address", chat.Address{Room: room}) },
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			h := HideConversations(slog.NewTextHandler(&out, nil), "key", func(string) string { return "" })
			write(slog.New(h))
			if text := out.String(); strings.Contains(text, id) || !strings.Contains(text, hiding{key: []byte("key")}.text("web/" + id)[len("web/"):]) {
				t.Errorf("the log says %s", text)
			}
		})
	}
	if a, b := (hiding{key: []byte("a")}).text(string(room)), (hiding{key: []byte("b")}).text(string(room)); a == b {
		t.Error("two keys hide a room in the same way; want different texts")
	}
	rooms := []chat.ListedRoom{{ID: "telegram/1/42"}, {ID: chat.RoomID("web/" + newID())}, {ID: chat.RoomID(room)}}
	for _, id := range []string{string(room) + "#3", string(room), "telegram/1/42#3", "web/~0123456789ab#1"} {
		if got := Reveal([]byte("a"), (hiding{key: []byte("a")}).text(id), rooms); got != id {
			t.Errorf("%q is revealed as %q", id, got)
		}
	}
	hidden := hiding{key: []byte("a")}
	for _, id := range []string{"telegram/1/42#3", "telegram/1/42", "discord/7#1"} {
		shown := hidden.place(id)
		if got := Reveal([]byte("a"), shown, append(rooms, chat.ListedRoom{ID: "discord/7"})); got != id || strings.Contains(shown, "42") {
			t.Errorf("%q is written as %q and revealed as %q", id, shown, got)
		}
	}
	if s := "telegram/1/42#3, web page, 0123456789abcdef0123456789abcdef"; (hiding{}).text(s) != s {
		t.Errorf("%q became %q", s, (hiding{}).text(s))
	}
}

// A record about a run has the hash of its room and its trace, once, wherever the run is named.
func TestRecordsOfRuns(t *testing.T) {
	room, key := "web/"+newID(), []byte("key")
	run := chat.RunID(room + "#3")
	for name, c := range map[string]struct {
		write func(*slog.Logger)
		want  int
	}{
		"an attribute":    {func(l *slog.Logger) { l.Info("x", "run", run) }, 1},
		"of a logger":     {func(l *slog.Logger) { l.With("run", run).Info("x") }, 1},
		"with its room":   {func(l *slog.Logger) { l.Info("x", "run", string(run), "room_hash", room) }, 1},
		"without a run":   {func(l *slog.Logger) { l.Info("x", "n", 1) }, 0},
		"of another kind": {func(l *slog.Logger) { l.Info("x", "run", "other") }, 0},
	} {
		var out bytes.Buffer
		c.write(slog.New(HideConversations(slog.NewTextHandler(&out, nil), string(key), func(of string) string {
			if of == string(run) {
				return "traced"
			}
			return ""
		})))
		if text := out.String(); strings.Count(text, "room_hash="+Hash(key, room)) != c.want || strings.Count(text, "trace=traced") != c.want || strings.Count(text, "room_hash") != c.want {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// SE-20: an address has one name for a day, restarts included. On the next day it has another, and nothing that is stored leads
// from the old name to the address.
func TestAddressKeyChangesWithTheDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		zone := time.FixedZone("east", 2*60*60) // the bubble begins at midnight UTC, which is 2:00 there
		m := &connectortest.Memory{}
		name := func(k *addressKey) chat.EntityID {
			t.Helper()
			id := require.Value(k.name(t.Context(), "203.0.113.9/32"))(t)
			return id
		}
		k := &addressKey{memo: m, zone: zone}
		first := name(k)
		time.Sleep(22*time.Hour - time.Second)
		if now := name(k); now != first {
			t.Errorf("on the same day the name changed from %s to %s", first, now)
		}
		if now := name(&addressKey{memo: m, zone: zone}); now != first {
			t.Errorf("with a restart the name changed from %s to %s", first, now)
		}
		old := strings.Fields(m.Stored()[addressKeyName])[1]
		time.Sleep(time.Second)
		if now := name(k); now == first {
			t.Error("on the next day the name is still the same")
		}
		if now := name(&addressKey{memo: m, zone: zone}); now != name(k) {
			t.Error("a restart changed the name of the address; want the same name on the same day")
		}
		if len(m.Stored()) != 1 || strings.Contains(m.Stored()[addressKeyName], old) {
			t.Errorf("stored is %v, with the old key", m.Stored())
		}
	})
}

// A name that could not be kept would make the limits forget what was spent.
func TestAddressKeyOfABrokenStore(t *testing.T) {
	broken := errors.New("disk on fire")
	m := &connectortest.Memory{}
	m.Fail(broken)
	k := &addressKey{memo: m, zone: time.UTC}
	if id, err := k.name(t.Context(), "203.0.113.9/32"); !errors.Is(err, broken) {
		t.Errorf("the name is %q, %v", id, err)
	}
}
