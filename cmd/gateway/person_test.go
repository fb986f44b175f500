package main_test

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/backends/sqlite"
	"parley/backends/sqlite/sqlitetest"
	"parley/core/chat"
	"parley/internal/require"
	"parley/models/modelfake"
)

// What is stored about a person is exported and deleted: by a running gateway while it writes an answer, and in the store without one.
func TestPersonIsExportedAndDeleted(t *testing.T) {
	fake := modelfake.New(modelfake.Options{Choose: func(modelfake.Request) modelfake.Script {
		return modelfake.Script{modelfake.Text("So far"), modelfake.Pace(2 * time.Second), modelfake.Text(" so good", modelfake.ByWord)}
	}})
	server := httptest.NewServer(fake)
	defer server.Close()
	c := command(t, []string{"OPENAI_BASE_URL=" + server.URL + "/v1", "OPENAI_MODEL=m"}, "--listen", "127.0.0.1:0")
	g := start(t, c)
	person := func(code int, want, input string, args ...string) string {
		t.Helper()
		c := command(t, nil, append([]string{"person"}, args...)...)
		c.Dir, c.Stdin = g.Dir, strings.NewReader(input)
		out, err := c.CombinedOutput()
		if got := status(t, err); got != code || !strings.Contains(string(out), want) {
			t.Errorf("person %v: %d %q; want %d, %q", args, got, out, code, want)
		}
		return string(out)
	}
	g.ask(t, "my secret question").Close()
	for end := time.Now().Add(30 * time.Second); len(fake.Requests()) == 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	account := conversationOf(t, g)
	room := strings.Replace(account, ":", "/", 1)
	checkRoom(t, g, account, room)
	checkExport(t, person(0, "my secret question", "", "export", account), account)
	person(1, "nothing was deleted", "", "delete", account)
	person(1, "nothing was deleted", "no\n", "delete", account)
	person(0, "Nothing is stored about "+account, "yes\n", "delete", account)
	require.NoError(t, g.Process.Signal(syscall.SIGTERM))
	g.wait(t)
	person(0, `"sections": {}`, "", "export", account)
	person(0, "0 records", "", "export", account, "-o", "a.json")
	person(1, "a.json exists already; name a new file", "", "export", account, "-o", "a.json")
	person(1, "name a file in a folder", "", "export", account, "-o", "no/a.json")
	person(0, "Nothing is stored", "", "delete", account, "--yes")
	link(t, filepath.Join(g.Dir, "parley.db"), "telegram/5", "web/user/ada")
	person(0, "It was linked with telegram:5, whose data stays.", "", "delete", "web:user/ada", "--yes")
	person(1, `"ada" is no account`, "", "delete", "ada", "--yes")
	for _, ending := range []string{"", "-wal"} {
		data, err := os.ReadFile(filepath.Join(g.Dir, "parley.db"+ending))
		if err == nil && (strings.Contains(string(data), "secret question") || strings.Contains(string(data), "So far")) {
			t.Errorf("parley.db%s still has the text", ending)
		}
	}
}

// link links two accounts, as they do with /link: one of them has a direct chat.
func link(t *testing.T, path string, direct, other chat.EntityID) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path, sqlitetest.Audited(t))
	require.NoError(t, err)
	defer store.Close()
	room := chat.Room{ID: chat.RoomID(direct), Kind: chat.Direct, Connector: "telegram", Created: time.Now()}
	err = store.SaveRoom(t.Context(), room)
	for _, account := range []chat.EntityID{direct, other} {
		if err == nil {
			err = store.SaveNote(t.Context(), chat.RoomNote{Room: room.ID, Kind: chat.LinkNote, Key: string(account), About: account, Text: string(direct), At: time.Now()})
		}
	}
	require.NoError(t, err)
}

// checkRoom expects that the list of rooms has the account of the visitor, and that the room is exported in both forms.
func checkRoom(t *testing.T, g *gateway, account, room string) {
	t.Helper()
	for want, args := range map[string][]string{
		account: {"export"}, "# " + room: {"export", room}, "my secret question": {"export", room}, `"room": "` + room: {"export", "--json", room},
		"1 records were written to a.md": {"export", room, "-o", "a.md"}, "there is no room nowhere": {"export", "nowhere"},
		"nothing is stored about this room": {"export", "web/none"},
	} {
		c := command(t, nil, args...)
		c.Dir = g.Dir
		if out, err := c.CombinedOutput(); !strings.Contains(string(out), want) {
			t.Errorf("%v: %v %s; want %q", args, err, out, want)
		}
	}
}

// conversationOf returns the account that stands for the only web conversation, from the gateway's store of runs.
func conversationOf(t *testing.T, g *gateway) string {
	t.Helper()
	data := require.Value(os.ReadFile(filepath.Join(g.Dir, "parley.db-wal")))(t)
	id := regexp.MustCompile(`web/[0-9a-f]{32}`).Find(data)
	return strings.Replace(string(id), "/", ":", 1)
}

func checkExport(t *testing.T, text, account string) {
	t.Helper()
	var export struct {
		Version  int
		Person   string
		Exported time.Time
		Sections map[string][]map[string]any
	}
	if err := json.Unmarshal([]byte(text), &export); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if export.Version != 1 || export.Person != account || len(export.Sections["messages"]) != 1 || len(export.Sections["runs"]) != 1 {
		t.Errorf("the export is %s", text)
	}
}
