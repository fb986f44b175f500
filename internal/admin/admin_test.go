package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/backends/sqlite"
	"parley/backends/sqlite/sqlitetest"
	"parley/config"
	"parley/connectors/connectortest"
	"parley/connectors/web/login"
	"parley/core/access"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/consent"
	"parley/core/llm"
	"parley/core/quota"
	"parley/internal/admin"
	"parley/internal/require"
)

// evil is in every field of the store that others choose.
const evil = `<script>alert("x")</script>'"><img src=x onerror=alert(1)>`

// gateway stands in for the running gateway, and notes what it is told.
type gateway struct {
	mu    sync.Mutex
	told  []string
	roles map[chat.EntityID]admin.Role
	file  string
	live  answer.Answer
}

func (g *gateway) tell(what ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.told = append(g.told, strings.Join(what, " "))
}

func (g *gateway) Watch(context.Context, chat.RunID) (*answer.Answer, error) { return &g.live, nil }

func (g *gateway) StopTurns(_ context.Context, room chat.RoomID, _ chat.ResponseID) error {
	g.tell("stop", string(room))
	return nil
}

func (g *gateway) Approve(_ context.Context, code string) (chat.Person, error) {
	g.tell("approve", code)
	return chat.Person{Name: evil}, nil
}

func (g *gateway) DecideCall(_ context.Context, id string, to chat.Decision, arguments string, by chat.EntityID) (string, bool, error) {
	g.tell("decide", id, string(to), arguments, string(by))
	return "Approved.", strings.Contains(arguments, "broken"), nil
}

func (g *gateway) EditOf(_ context.Context, id string) (*chat.Edit, error) {
	if id == "a2" {
		return nil, nil
	}
	return &chat.Edit{Arguments: json.RawMessage(`{"item":"` + evil + `"}`)}, nil
}

func (g *gateway) Handovers(context.Context) ([]admin.Handover, error) {
	return []admin.Handover{
		{ID: "h1", Room: "fake/r", Name: evil, Why: evil, Person: "fake/sam", By: evil, Late: true}, {ID: "h2", Room: "fake/s", Name: evil},
	}, nil
}

func (g *gateway) HandBack(_ context.Context, request string) (string, error) {
	g.tell("hand back", request)
	return "", nil
}

func (g *gateway) TakeOver(_ context.Context, request string, by chat.Person) (string, error) {
	g.tell("take over", request, string(by.ID), by.Name)
	return map[string]string{"h1": "Bob has taken over."}[request], nil
}

func (g *gateway) Write(_ context.Context, request string, m access.PageMessage) error {
	g.tell("write", request, fmt.Sprint(m.Note), string(m.By), m.Text, fmt.Sprint(len(m.Files)))
	return nil
}

func (g *gateway) Draft(_ context.Context, request string, by chat.EntityID) (string, error) {
	g.tell("draft", request, string(by))
	return evil, nil
}

func (g *gateway) Role(_ context.Context, account chat.EntityID) (admin.Role, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.roles[account], nil
}

func (g *gateway) Blocked(context.Context) (map[chat.EntityID]bool, error) {
	return map[chat.EntityID]bool{"fake/byfile": true, "fake/bychat": false}, nil
}

func (g *gateway) SetBlocked(_ context.Context, account, _ chat.EntityID, blocked bool) error {
	g.tell("blocked", string(account), map[bool]string{true: "yes", false: "no"}[blocked])
	return nil
}

func (g *gateway) Health(context.Context) []admin.Health {
	return []admin.Health{{Part: "Store", State: evil}, {Part: "Redis", State: "ok", OK: true}}
}
func (g *gateway) Settings() []config.Setting {
	return []config.Setting{{Key: "agent.system", Value: evil}}
}
func (g *gateway) Files() []string { return []string{g.file} }

func (g *gateway) Edit(_ context.Context, file, was, text string) ([]string, error) {
	g.tell("edit", was, "to", text)
	if strings.Contains(text, "broken") {
		return nil, errors.New(file + ":2:1: it is broken")
	}
	return nil, nil
}

func (g *gateway) Tasks() []admin.Task {
	return []admin.Task{{Kind: "hook", Name: "build", When: "now", Room: "fake:1", Text: evil}}
}

func (g *gateway) RunTask(_ context.Context, kind, name string) error {
	g.tell("run", kind, name)
	return chat.ErrNotFound
}

// page is the operator's page with its store.
type page struct {
	*testing.T
	*gateway
	memo  *connectortest.Memory
	store *sqlite.Store
	url   string
	run   chat.RunID
}

func newPage(t *testing.T, edit func(*admin.Options)) *page {
	t.Helper()
	store := require.Value(sqlite.Open(t.Context(), sqlitetest.Path(t), sqlite.Options{}))(t)
	p := &page{T: t, memo: &connectortest.Memory{}, store: store, gateway: &gateway{
		roles: map[chat.EntityID]admin.Role{"fake/olga": admin.Owner, "fake/sam": admin.Staff}, file: filepath.Join(t.TempDir(), "prompt.md"),
	}}
	p.must(os.WriteFile(p.file, []byte("Be kind.\n"+evil), 0o600))
	p.fill()
	o := admin.Options{
		Store: store, Memo: p.memo, Gateway: p.gateway, Agent: chat.Agent{ID: "agent", Name: evil}, Zone: time.UTC, Fetch: p.fetch, Log: slog.New(slog.DiscardHandler),
	}
	if edit != nil {
		edit(&o)
	}
	a := admin.New(o)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		r.URL.Scheme, r.URL.Host, r.RemoteAddr = "http", r.Host, "192.0.2.7"
		a.ServeHTTP(rw, r)
	}))
	p.url = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		p.must(store.Close())
	})
	return p
}

func (p *page) must(err error) {
	p.Helper()
	require.NoError(p, err)
}

// fill stores a failed answer with all that one can have, and requests.
func (p *page) fill() {
	ctx := p.Context()
	m := chat.Message{
		Memory:  chat.Memory{ID: "fake/r/1", Room: "fake/r", Author: "fake/ada", Name: evil, Text: "=1+1 " + evil, At: time.Now()},
		Place:   chat.Room{ID: "fake/r", Kind: chat.Group, Connector: "fake", Name: evil},
		Address: chat.Address{Connector: "fake", Room: "fake/r"},
	}
	acc, err := p.store.Accept(ctx, m, chat.JoinRule{})
	p.must(err)
	p.run = acc.Run
	run, err := p.store.Start(ctx, acc.Run, "me")
	p.must(err)
	_, err = p.store.SaveEntity(ctx, chat.Entity{ID: "fake/ada", Connector: "fake", Names: []string{evil}})
	p.must(err)
	p.must(p.store.Note(ctx, run.ID, run.Epoch, chat.Note{Shown: []chat.Shown{{ID: evil, At: time.Now()}}, Text: evil}))
	p.must(p.store.Finish(ctx, run.ID, run.Epoch, answer.Outcome{
		Status: answer.Failed, Failure: llm.ProviderIssue, Partial: true, Effort: answer.Effort{Prompt: &answer.Prompt{Instructions: "1x", Since: m.At.Add(-time.Second)}},
	}, chat.Memory{
		ID: run.Said(), Room: "fake/r", Author: "agent", Name: evil, Text: evil, At: time.Now(), Thought: evil, Providers: []string{evil},
		Calls: []answer.PastCall{{ID: "c", Tool: answer.Tool{Name: evil, Parameters: evil, Result: evil, Stage: answer.StageEnd}}},
	}))
	p.must(p.store.SaveNote(ctx, chat.RoomNote{Room: "fake/r", Kind: chat.FeedbackNote, Key: "k", First: run.Said(), Last: run.Said(), Text: `{"rating":"down","reason":"` + strings.ReplaceAll(evil, `"`, `\"`) + `"}`, At: time.Now()}))
	for _, id := range []string{"a1", "a2"} {
		_, err = p.store.RequestApproval(ctx, chat.Approval{ID: id, Room: "fake/r", Run: run.ID, Call: "c", Tool: evil, Effect: evil, Asker: evil, At: time.Now(), Expires: time.Now().Add(time.Hour), Decision: chat.Pending})
		p.must(err)
	}
	_, _, err = p.store.RequestPairing(ctx, chat.PairingRequest{Person: chat.Person{ID: "fake/bob", Name: evil, Since: time.Now()}, Code: "BOBSCODE", Ends: time.Now().Add(time.Hour)}, chat.PairingRule{Limit: 5})
	p.must(err)
	open := m
	open.ID, open.Text = "fake/r/2", "later"
	acc, err = p.store.Accept(ctx, open, chat.JoinRule{})
	p.must(err)
	_, err = p.store.Start(ctx, acc.Run, "me")
	p.must(err)
	p.live.Apply(answer.Change{Kind: answer.Text, Text: evil})
}

// visitor is a browser.
func (p *page) visitor() *http.Client {
	jar := require.Value(cookiejar.New(nil))(p)
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// logIn returns a browser with the session of an account.
func (p *page) logIn(who chat.EntityID) *http.Client {
	p.Helper()
	code := require.Value(admin.NewCode(p.Context(), p.memo, who))(p)
	c := p.visitor()
	if status, _ := p.post(c, "/admin/login", "code", code); status != http.StatusSeeOther {
		p.Fatalf("the login of %s is answered with %d", who, status)
	}
	return c
}

func (p *page) get(c *http.Client, path string) (int, string) {
	return p.request(c, http.MethodGet, path, "", nil)
}

func (p *page) post(c *http.Client, path string, form ...string) (int, string) {
	values := url.Values{}
	for i := 0; i < len(form); i += 2 {
		values.Set(form[i], form[i+1])
	}
	return p.request(c, http.MethodPost, path, values.Encode(), nil)
}

func (p *page) request(c *http.Client, method, path, body string, header http.Header) (int, string) {
	p.Helper()
	r, err := http.NewRequestWithContext(p.Context(), method, p.url+path, strings.NewReader(body))
	p.must(err)
	r.Header = header.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := c.Do(r)
	p.must(err)
	defer resp.Body.Close()
	var b strings.Builder
	_, err = func() (int64, error) {
		data := make([]byte, 2<<20)
		n, err := readAll(resp, data)
		b.Write(data[:n])
		return int64(n), err
	}()
	p.must(err)
	return resp.StatusCode, b.String()
}

// readAll reads a body; of an event stream only the first events.
func readAll(resp *http.Response, into []byte) (n int, err error) {
	for n < len(into) {
		m, err := resp.Body.Read(into[n:])
		n += m
		if err != nil || strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") && strings.Contains(string(into[:n]), "data: ") {
			return n, nil
		}
	}
	return n, errors.New("the page is too long")
}

var staffPages = []string{"/admin", "/admin/requests", "/admin/people", "/admin/runs", "/admin/run?id=fake%2Fr%231", "/admin/room?id=fake%2Fr", "/admin/talk?id=fake%2Fr", "/admin/events?id=fake%2Fr", "/admin/events"}

var ownerPages = []string{"/admin/review", "/admin/spending", "/admin/tasks", "/admin/config", "/admin/health", "/admin/audit"}

// SE-26: each page is open to those with its role only, and forms too.
func TestRoles(t *testing.T) {
	p := newPage(t, nil)
	none, staff, owner := p.visitor(), p.logIn("fake/sam"), p.logIn("fake/olga")
	forms := []string{"/admin", "/admin/requests", "/admin/people", "/admin/tasks", "/admin/config", "/admin/audit", "/admin/talk?id=fake%2Fr"}
	for _, path := range slices.Concat(staffPages, ownerPages) {
		wantStaff := http.StatusOK
		if slices.Contains(ownerPages, path) {
			wantStaff = http.StatusForbidden
		}
		for who, c := range map[string]struct {
			client *http.Client
			want   int
		}{"none": {none, http.StatusSeeOther}, "staff": {staff, wantStaff}, "owner": {owner, http.StatusOK}} {
			if got, body := p.get(c.client, path); got != c.want || got == http.StatusOK && body == "" {
				t.Errorf("GET %s for %s: %d; want %d", path, who, got, c.want)
			}
			wantPost := http.StatusMethodNotAllowed
			if slices.Contains(forms, path) {
				wantPost = map[string]int{"none": http.StatusUnauthorized, "staff": http.StatusForbidden}[who]
			}
			if who == "owner" && slices.Contains(forms, path) || who == "staff" && wantStaff == http.StatusOK && slices.Contains(forms, path) {
				continue // see TestForms
			}
			if got, _ := p.post(c.client, path, "do", "x"); got != wantPost {
				t.Errorf("POST %s for %s: %d; want %d", path, who, got, wantPost)
			}
		}
	}
	for _, item := range []string{"Configuration", "Spending", "Audit log"} {
		if _, body := p.get(staff, "/admin"); strings.Contains(body, item) {
			t.Errorf("the menu of the staff has %s", item)
		}
	}
}

// Spending names people and rooms, and says where a price is unknown. Accounts are written as in the configuration, and are found so.
func TestNamesOfAccounts(t *testing.T) {
	p := newPage(t, nil)
	require.Value(p.store.SaveEntity(t.Context(), chat.Entity{ID: "fake/bob", Connector: "fake", Names: []string{"Bob"}}))(p)
	free := quota.Charge{Cost: quota.Cost{Messages: 1, Tokens: 30}, Counts: quota.Counts{Input: 10, Output: 20, Unpriced: 30}}
	for _, bucket := range []string{"total", "model/free", "person/fake/bob", "room/fake/r"} {
		free.Bucket = bucket
		require.Value(p.store.Spend(t.Context(), time.Now().UTC().Format(time.DateOnly), free))(p)
	}
	owner := p.logIn("fake/olga")
	for path, wants := range map[string][]string{
		"/admin/spending":             {">Bob<", ">fake:bob<", "price unknown"},
		"/admin/people":               {">fake:ada<", ">fake:bychat<"},
		"/admin/people?q=fake%3Abob":  {">Bob<"},
		"/admin/people?q=fake%3Abych": {">fake:bychat<"},
		"/admin/requests":             {">fake:bob<"},
	} {
		_, body := p.get(owner, path)
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s does not contain %q: %s", path, want, body)
			}
		}
		if strings.Contains(body, "$0.00") || strings.Contains(body, ">fake/b") {
			t.Errorf("%s has a price that is unknown, or an account in another form: %s", path, body)
		}
	}
}

// Nothing that others have written is markup on any page, and CSV has no formula.
func TestHostileTexts(t *testing.T) {
	p := newPage(t, nil)
	owner := p.logIn("fake/olga")
	for _, path := range slices.Concat(staffPages, ownerPages, []string{"/admin/people?q=" + url.QueryEscape(evil), "/admin/login"}) {
		_, body := p.get(owner, path)
		if strings.Contains(body, "<script>alert") || strings.Contains(body, "<img src=x") {
			t.Errorf("%s has markup of others", path)
		}
		if !strings.HasPrefix(path, "/admin/events") && path != "/admin/audit" && !strings.Contains(body, "&lt;script&gt;") {
			t.Errorf("%s lacks the texts of others", path)
		}
	}
	if _, body := p.get(owner, "/admin/runs?format=csv"); !strings.Contains(body, "'=1+1") {
		t.Errorf("the CSV has a formula: %s", body)
	}
	_, body := p.get(owner, "/admin/runs?format=json")
	var all map[string][]map[string]string
	if err := json.Unmarshal([]byte(body), &all); err != nil || !strings.Contains(all["Answers"][1]["Question"], evil[:20]) {
		t.Errorf("the JSON is %s, %v", body, err)
	}
}

// The buttons of a held answer send or discard it.
func TestHeldAnswer(t *testing.T) {
	p := newPage(t, nil)
	_, err := p.store.RequestApproval(t.Context(), chat.Approval{ID: "a3", Room: "fake/r", Run: p.run, Call: "c", Tool: consent.HeldTool, At: time.Now(), Expires: time.Now().Add(time.Hour), Decision: chat.Pending})
	p.must(err)
	_, body := p.get(p.logIn("fake/sam"), "/admin/requests")
	for _, want := range []string{`>Send</button>`, `>Discard</button>`, `>Allow once</button>`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q: %s", want, body)
		}
	}
}

// Each form does its work, and is in the audit log with the user and the address.
func TestForms(t *testing.T) {
	p := newPage(t, nil)
	owner, staff := p.logIn("fake/olga"), p.logIn("fake/sam")
	for _, c := range []struct {
		by     *http.Client
		path   string
		form   []string
		status int
		told   string
	}{
		{staff, "/admin", []string{"do", "stop", "id", string(p.run)}, 303, "stop fake/r"},
		{staff, "/admin", []string{"do", "stop", "id", "none"}, 422, ""},
		{staff, "/admin/requests", []string{"do", "allow", "id", "a1"}, 303, "decide a1 approved  fake/sam"},
		{staff, "/admin/requests", []string{"do", "change", "id", "a1", "text", `{"item":"tea"}`}, 303, `decide a1 amended {"item":"tea"} fake/sam`},
		{staff, "/admin/requests", []string{"do", "change", "id", "a1", "text", `broken`}, 422, "decide a1 amended broken fake/sam"},
		{owner, "/admin/requests", []string{"do", "deny", "id", "a2"}, 303, "decide a2 denied  fake/olga"},
		{staff, "/admin/requests", []string{"do", "approve", "id", "fake/bob"}, 303, "approve BOBSCODE"},
		{staff, "/admin/requests", []string{"do", "something", "id", "fake/bob"}, 422, ""},
		{staff, "/admin/requests", []string{"do", "reject", "id", "fake/bob"}, 303, ""},
		{staff, "/admin/requests", []string{"do", "approve", "id", "fake/bob"}, 422, ""}, // it is decided
		{staff, "/admin/requests", []string{"do", "hand back", "id", "h1"}, 303, "hand back h1"},
		{staff, "/admin/talk?id=fake%2Fs", []string{"do", "take over", "id", "h2"}, 303, "take over h2 fake/sam "},
		{staff, "/admin/talk?id=fake%2Fr", []string{"do", "take over", "id", "h1"}, 422, "take over h1 fake/sam "},
		{staff, "/admin/talk?id=fake%2Fr", []string{"do", "write", "id", "h1", "key", "k", "text", " Hello "}, 303, "write h1 false fake/sam Hello 0"},
		{staff, "/admin/talk?id=fake%2Fr", []string{"do", "note", "id", "h1", "key", "k", "text", "Rude"}, 303, "write h1 true fake/sam Rude 0"},
		{staff, "/admin/talk?id=fake%2Fr", []string{"do", "write", "id", "h1", "key", "k", "text", " "}, 422, ""},
		{staff, "/admin/talk?id=fake%2Fr", []string{"do", "suggest", "id", "h1"}, 200, "draft h1 fake/sam"},
		{staff, "/admin/talk?id=fake%2Fr", []string{"do", "hand back", "id", "h1"}, 303, "hand back h1"},
		{staff, "/admin/people", []string{"do", "block", "id", "fake/ada"}, 303, "blocked fake/ada yes"},
		{staff, "/admin/people", []string{"do", "unblock", "id", "fake/bychat"}, 303, "blocked fake/bychat no"},
		{staff, "/admin/people", []string{"do", "block", "id", "fake/olga"}, 422, ""},
		{staff, "/admin/people", []string{"do", "something", "id", "fake/ada"}, 422, ""},
		{owner, "/admin/tasks", []string{"do", "run", "id", "hook/build"}, 422, "run hook build"},
		{owner, "/admin/config", []string{"do", "save", "id", p.file, "was", "a\r\n", "text", "b\r\n"}, 303, "edit a\n to b\n"},
		{owner, "/admin/config", []string{"do", "save", "id", p.file, "was", "a", "text", "broken"}, 422, "edit a to broken"},
		{owner, "/admin/config", []string{"do", "save", "id", "/etc/passwd", "was", "", "text", "x"}, 422, ""},
		{owner, "/admin/audit", []string{"do", "revoke", "id", "none"}, 422, ""},
	} {
		before := len(p.told)
		status, body := p.post(c.by, c.path, c.form...)
		if told := strings.Join(p.told[before:], "; "); status != c.status || told != c.told {
			t.Errorf("%s %q: %d, %q; want %d, %q\n%s", c.path, c.form, status, told, c.status, c.told, body)
		}
	}
	if _, body := p.post(owner, "/admin/config", "do", "save", "id", p.file, "was", "a", "text", "broken"); !strings.Contains(body, "prompt.md:2:1: it is broken") || !strings.Contains(body, "broken</textarea>") {
		t.Errorf("after a broken edit the page is %s", body)
	}
	if _, body := p.post(staff, "/admin/requests", "do", "change", "id", "a1", "text", "broken "+evil); !strings.Contains(body, ">Approved.</p>") || strings.Count(body, `value="change"`) != 1 || !strings.Contains(body, "<details open>") || !strings.Contains(body, "\nbroken &lt;script") {
		t.Errorf("after arguments that do not fit the page is %s", body)
	}
	_, log := p.get(owner, "/admin/audit?format=csv")
	for _, want := range []string{"fake/sam,192.0.2.7,stop,fake/r#1", "fake/sam,192.0.2.7,block,fake/ada", "fake/sam,192.0.2.7,take over,h2", "take over failed,h1", "change failed,\"a1: {\"\"item\"\":\"\"<script>", `→ {""item"":""tea""}`, "fake/olga,192.0.2.7,save," + p.file, "log in"} {
		if !strings.Contains(log, want) {
			t.Errorf("the audit log lacks %q:\n%s", want, log)
		}
	}
	if !strings.HasPrefix(log, "Sessions\n") || !strings.Contains(log, "\nChanges\nTime,") {
		t.Errorf("the tables have no titles:\n%s", log)
	}
	p.post(owner, "/admin", "do", strings.Repeat("x", 1000), "id", string(p.run))
	if _, log := p.get(owner, "/admin/audit"); strings.Contains(log, strings.Repeat("x", 400)) {
		t.Error("an entry of the audit log has any length")
	}
	if _, body := p.get(owner, "/admin/run?id=fake%2Fr%231"); !strings.Contains(body, "<details><summary>Show 2 parts</summary>") || !strings.Contains(body, "Conversation</td>") {
		t.Errorf("the page of a run has no prompt:\n%s", body)
	}
	if status, body := p.get(owner, "/admin/run?id=none"); status != http.StatusOK || !strings.Contains(body, "not stored") || strings.Contains(body, "Attempts") {
		t.Errorf("an unknown answer: %d, %s", status, body)
	}
	if _, body := p.get(staff, "/admin"); !strings.Contains(body, "They are") {
		t.Errorf("the result is not shown: %s", body)
	}
}

// Twenty browsers can follow live answers. The next one is refused, until one of them leaves.
func TestTooManyLiveStreams(t *testing.T) {
	p := newPage(t, nil)
	owner := p.logIn("fake/olga")
	var leave []func() error
	follow := func() (int, string) {
		r := require.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/admin/events", nil))(p)
		resp := require.Value(owner.Do(r))(p)
		leave = append(leave, resp.Body.Close)
		return resp.StatusCode, resp.Header.Get("Retry-After")
	}
	for range 20 {
		if status, _ := follow(); status != http.StatusOK {
			t.Fatalf("a stream is refused with %d", status)
		}
	}
	if status, retry := follow(); status != http.StatusTooManyRequests || retry == "" {
		t.Errorf("one more is answered with %d, Retry-After %q", status, retry)
	}
	p.must(leave[0]())
	for status := 0; status != http.StatusOK; status, _ = follow() { // once the gateway has noticed
		p.must(leave[len(leave)-1]())
	}
	for _, l := range leave {
		_ = l()
	}
}

// A task that can't be started says why, and the audit log names it.
func TestTasksThatCannotStart(t *testing.T) {
	p := newPage(t, nil)
	owner := p.logIn("fake/olga")
	for id, want := range map[string]string{"hook/build": "The agent does not know the room of this task.", "hook/gone": "It is not there any more."} {
		if status, body := p.post(owner, "/admin/tasks", "do", "run", "id", id); status != http.StatusUnprocessableEntity || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s; want %q", id, status, body, want)
		}
		if _, log := p.get(owner, "/admin/audit?format=csv"); !strings.Contains(log, ",run failed,"+id+"\n") {
			t.Errorf("the audit log after %s is %s", id, log)
		}
	}
}

// Lists that are cut off are still searched and filtered as a whole: a failed question and a quiet room are found behind any number of newer ones.
func TestOldRoomsAndFailures(t *testing.T) {
	p := newPage(t, nil)
	owner := p.logIn("fake/olga")
	for n := range 1001 {
		id := fmt.Sprintf("fake/new%d", n)
		acc, err := p.store.Accept(t.Context(), chat.Message{
			Memory:  chat.Memory{ID: chat.MemoryID(id + "/1"), Room: chat.RoomID(id), Author: "fake/bob", Name: "Bob", Text: "hello", At: time.Now()},
			Place:   chat.Room{ID: chat.RoomID(id), Kind: chat.Group, Connector: "fake", Name: "New"},
			Address: chat.Address{Connector: "fake", Room: chat.RoomID(id)},
		}, chat.JoinRule{})
		p.must(err)
		run := require.Value(p.store.Start(t.Context(), acc.Run, "me"))(p)
		p.must(p.store.Finish(t.Context(), run.ID, run.Epoch, answer.Outcome{Status: answer.Completed}, chat.Memory{ID: run.Said(), Room: run.Room, Author: "agent", Text: "hi", At: time.Now()}))
	}
	for path, want := range map[string]string{"/admin/review": "failed: ", "/admin/people?q=ALERT(": "fake%2Fr"} {
		if _, body := p.get(owner, path); !strings.Contains(body, want) {
			t.Errorf("%s lacks %q", path, want)
		}
	}
}

// SE-26: other sites can't send forms, also with the cookie.
func TestForeignForms(t *testing.T) {
	p := newPage(t, nil)
	owner := p.logIn("fake/olga")
	for name, header := range map[string]http.Header{
		"another site":   {"Sec-Fetch-Site": {"cross-site"}},
		"another origin": {"Origin": {"https://evil.example"}},
		"a subdomain":    {"Sec-Fetch-Site": {"same-site"}},
	} {
		for _, path := range []string{"/admin", "/admin/login", "/admin/logout"} {
			if status, _ := p.request(owner, http.MethodPost, path, "do=stop&id="+url.QueryEscape(string(p.run)), header); status != http.StatusForbidden {
				t.Errorf("%s to %s: %d", name, path, status)
			}
		}
	}
	if len(p.told) > 0 {
		t.Errorf("they did %q", p.told)
	}
	resp := require.Value(owner.Get(p.url + "/admin"))(p)
	_ = resp.Body.Close()
	if policy := resp.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the headers are %v", resp.Header)
	}
}

// A code works once, for its account, within its time; a session ends with its time, its role, its logout and its revocation. Neither is stored
// as it is.
func TestLogins(t *testing.T) {
	p := newPage(t, nil)
	in := func(code string) int {
		status, _ := p.post(p.visitor(), "/admin/login", "code", code)
		return status
	}
	code, err := admin.NewCode(t.Context(), p.memo, "fake/olga")
	p.must(err)
	if status := in("AAAA-BBBB-CCCC"); status != http.StatusForbidden {
		t.Errorf("a wrong code: %d", status)
	}
	if status := in(strings.ToLower(strings.ReplaceAll(code, "-", " "))); status != http.StatusSeeOther {
		t.Errorf("the code in another form: %d", status)
	}
	if status := in(code); status != http.StatusForbidden {
		t.Errorf("a used code: %d", status)
	}
	machine, err := login.Sessions{Store: p.memo}.NewCode(t.Context())
	p.must(err)
	if a, b := in(machine), in(machine); a != http.StatusSeeOther || b != http.StatusForbidden {
		t.Errorf("the code of the machine: %d, and again %d", a, b)
	}
	code, err = admin.NewCode(t.Context(), p.memo, "fake/olga")
	p.must(err)
	p.age("admin/codes")
	if status := in(code); status != http.StatusForbidden {
		t.Errorf("an expired code: %d", status)
	}
	if code, err = admin.NewCode(t.Context(), p.memo, "fake/stranger"); err != nil || in(code) != http.StatusForbidden {
		t.Errorf("a code of an account without a role opens the page, %v", err)
	}
	for name, end := range map[string]func(*http.Client){
		"time":   func(*http.Client) { p.age("admin/sessions") },
		"logout": func(c *http.Client) { p.post(c, "/admin/logout") },
		"role": func(*http.Client) {
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.roles, "fake/olga")
		},
		"revocation": func(c *http.Client) {
			all := require.Value(login.Sessions{Store: p.memo, Name: "admin/sessions"}.List(t.Context()))(p)
			p.post(c, "/admin/audit", "do", "revoke", "id", all[len(all)-1].ID)
		},
	} {
		p.roles["fake/olga"] = admin.Owner
		c := p.logIn("fake/olga")
		if status, _ := p.get(c, "/admin"); status != http.StatusOK {
			t.Errorf("before the end by %s: %d", name, status)
		}
		if kept, err := p.memo.Kept(t.Context(), "admin/sessions"); err != nil || strings.Contains(kept, cookieOf(t, c, p.url)) {
			t.Errorf("the token is stored as it is, %v", err)
		}
		end(c)
		if status, _ := p.get(c, "/admin"); status != http.StatusSeeOther {
			t.Errorf("after the end by %s: %d", name, status)
		}
	}
}

// cookieOf returns the token of a browser.
func cookieOf(t *testing.T, c *http.Client, at string) string {
	u := require.Value(url.Parse(at + "/admin"))(t)
	for _, one := range c.Jar.Cookies(u) {
		if one.Name == "parley_admin" {
			return one.Value
		}
	}
	t.Fatal("there is no cookie")
	return ""
}

// age makes the stored codes or sessions end now.
func (p *page) age(name string) {
	p.Helper()
	p.must(login.Change(p.Context(), p.memo, name, func(all *[]map[string]any) error {
		for _, one := range *all {
			one["Ends"] = time.Now().Add(-time.Second)
		}
		return nil
	}))
}
