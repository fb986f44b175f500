package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"parley/backends/sqlite"
	"parley/backends/sqlite/sqlitetest"
	"parley/connectors/connectortest"
	"parley/connectors/web/identity"
	"parley/core/chat"
	"parley/internal/require"
)

const siteSecret = "0123456789abcdef0123456789abcdef"

// site is a gateway over a real store that other machines can reach, without a network.
type site struct {
	*testing.T
	web  *Web
	api  http.Handler
	said []chat.Inbound
}

func newSite(t *testing.T, edit func(*Options)) *site {
	t.Helper()
	accounts := require.Value(identity.NewSite(identity.SiteConfig{Secret: siteSecret, Audience: "https://shop.example"}))(t)
	stored := require.Value(sqlite.Open(t.Context(), sqlitetest.Path(t), sqlitetest.Audited(t)))(t)
	t.Cleanup(func() { _ = stored.Close() })
	o := Options{
		Memo: &connectortest.Memory{}, Zone: time.UTC, Listener: public{}, Agent: chat.Agent{ID: "agent", Name: "A"},
		Store: stored, Origins: []string{"https://shop.example"}, Public: true, Site: accounts, LocalToken: "local",
		Ready: func(context.Context) error { return nil }, Log: slog.New(slog.DiscardHandler),
	}
	if edit != nil {
		edit(&o)
	}
	s := &site{T: t, web: New(o)}
	s.web.submit = func(ctx context.Context, in chat.Inbound) (chat.Accepted, error) {
		s.said = append(s.said, in)
		switch in := in.(type) {
		case chat.Message:
			return stored.Accept(ctx, in, chat.JoinRule{NoRun: true})
		case chat.Cleared:
			n, err := stored.ClearEntirely(ctx, in.Room, in.Person)
			return chat.Accepted{Deleted: n}, err
		}
		return chat.Accepted{}, nil
	}
	s.api = s.web.routes()
	return s
}

// ask makes a request as the shop's page with a token, and decodes the reply.
func (s *site) ask(method, path, token, body string, headers ...string) (int, map[string]any) {
	s.Helper()
	r := httptest.NewRequest(method, "https://shop.example"+path, strings.NewReader(body))
	r.RemoteAddr = "198.51.100.7:4000"
	r.Header.Set("Origin", "https://shop.example")
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.api.ServeHTTP(w, r)
	var reply map[string]any
	text, _ := io.ReadAll(w.Result().Body)
	_ = json.Unmarshal(text, &reply)
	return w.Code, reply
}

// want checks the status and the code of a refusal.
func (s *site) want(what string, status int, code string, got int, reply map[string]any) {
	s.Helper()
	if is, _ := reply["code"].(string); got != status || is != code {
		s.Errorf("%s: %d %v; want %d %q", what, got, reply, status, code)
	}
}

// visitor returns the token of a new anonymous visitor.
func (s *site) visitor() string {
	s.Helper()
	status, reply := s.ask("POST", "/api/visitors", "", "")
	visitor, _ := reply["visitor"].(map[string]any)
	token, _ := visitor["token"].(string)
	if status != http.StatusCreated || token == "" {
		s.Fatalf("a visitor gets %d %v", status, reply)
	}
	return token
}

// opens returns the id of a new conversation.
func (s *site) opens(token string) string {
	s.Helper()
	status, reply := s.ask("POST", "/api/conversations", token, "{}")
	opened, _ := reply["conversation"].(map[string]any)
	id, _ := opened["id"].(string)
	if status != http.StatusCreated || id == "" {
		s.Fatalf("opening gives %d %v", status, reply)
	}
	return "/api/conversations/" + id
}

// account returns a token of the shop, edited.
func account(t *testing.T, subject string, edit func(jwt.MapClaims)) string {
	t.Helper()
	claims := jwt.MapClaims{"sub": subject, "aud": "https://shop.example", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	if edit != nil {
		edit(claims)
	}
	text := require.Value(jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(siteSecret)))(t)
	return text
}

// Each route about a conversation, with a body where it takes one.
var conversationRoutes = [][3]string{
	{"GET", "/messages", ""},
	{"GET", "/messages/x/files/0", ""},
	{"POST", "/files?clientFileId=a", "x"},
	{"GET", "/files/a", ""},
	{"GET", "/files/a/thumbnail", ""},
	{"DELETE", "/files/a", ""},
	{"POST", "/messages/stream", `{"text":"hi"}`},
	{"POST", "/choices/stream", `{"id":"q","option":0}`},
	{"POST", "/stop", "{}"},
	{"DELETE", "", ""},
	{"POST", "/restore", "{}"},
}

// SE-25: a conversation is its visitor's: by no route does it exist for another visitor, account, key or program with its id.
func TestConversationsBelongToVisitors(t *testing.T) {
	s := newSite(t, nil)
	ada, bob := s.visitor(), account(t, "bob", nil)
	key, _, err := s.web.keys.Keys.Create(t.Context(), identity.Key{Name: "k", Scopes: []string{"read", "write"}, Ends: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	theirs := s.opens(ada)
	for _, route := range conversationRoutes {
		for who, token := range map[string]string{"another visitor": s.visitor(), "an account": bob, "a key": key, "only the id": ""} {
			status, reply := s.ask(route[0], theirs+route[1], token, route[2])
			s.want(who+": "+route[0]+" "+route[1], http.StatusNotFound, "NOT_FOUND", status, reply)
		}
	}
	if len(s.said) > 0 {
		t.Errorf("others have said %v", s.said)
	}
	if status, reply := s.ask("POST", theirs+"/messages/stream", ada, `{"text":"hi"}`); status != http.StatusOK {
		t.Errorf("the visitor can't write: %d %v", status, reply)
	}
	if status, reply := s.ask("GET", theirs+"/messages", "local", "", "Origin: ", "X: y"); status != http.StatusUnauthorized {
		t.Errorf("a local token from elsewhere: %d %v", status, reply) // it is checked in signin_test.go
	}
	_, reply := s.ask("GET", "/api/conversations", ada, "")
	if all, _ := reply["conversations"].([]any); len(all) != 1 {
		t.Errorf("the list is %v", reply)
	}
	if _, reply = s.ask("GET", "/api/conversations", bob, ""); len(reply["conversations"].([]any)) != 0 {
		t.Errorf("the list of another is %v", reply)
	}
}

// An id that was opened without a token works until the end of the claims, with a header that says so. A browser that brings it
// with a token becomes its reader, and stays that afterwards; others find nothing then.
func TestClaims(t *testing.T) {
	s := newSite(t, func(o *Options) { o.ClaimUntil = time.Now().Add(time.Hour) })
	ada, bob := s.visitor(), s.visitor()
	old := s.opens("")
	status, _ := s.ask("GET", old+"/messages", "", "")
	if status != http.StatusOK {
		t.Errorf("the id alone opens nothing: %d", status)
	}
	key, _, err := s.web.keys.Keys.Create(t.Context(), identity.Key{Name: "k", Scopes: []string{"read"}, Ends: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	status, reply := s.ask("GET", old+"/messages", key, "")
	s.want("a key claims nothing", http.StatusNotFound, "NOT_FOUND", status, reply)
	for _, who := range []string{ada, bob, ""} { // a claim revokes nothing
		if status, reply := s.ask("GET", old+"/messages", who, ""); status != http.StatusOK {
			t.Errorf("it is claimed with %d %v", status, reply)
		}
	}
	account := account(t, "ada", nil) // takes it over from one reader
	take := `{"visitorToken":"` + bob + `","ids":["` + strings.TrimPrefix(old, "/api/conversations/") + `"]}`
	if status, reply := s.ask("POST", "/api/account/conversations", account, take); status != http.StatusOK {
		t.Errorf("it is taken over with %d %v", status, reply)
	}
	for who, token := range map[string]string{"the account": account, "the other reader": ada, "the id": ""} {
		if status, reply := s.ask("GET", old+"/messages", token, ""); status != http.StatusOK {
			t.Errorf("after that, %s opens it with %d %v", who, status, reply)
		}
	}
	room := roomOf(strings.TrimPrefix(old, "/api/conversations/"))
	for n := range chat.MaxNotes { // as many visitors have claimed it as a room can have notes
		who := reader{id: chat.EntityID(fmt.Sprintf("web/visitor/%d", n))}
		r := httptest.NewRequest("GET", "https://shop.example"+old, nil)
		r.Header.Set("Origin", "https://shop.example")
		if _, no := (door{s.web}).conversation(r.WithContext(context.WithValue(t.Context(), readerKey{}, who)), strings.TrimPrefix(string(room), Name+"/")); no != nil {
			t.Fatal(no)
		}
	}
	s.web.claims.until = time.Now()
	for who, token := range map[string]string{"the id": "", "a late visitor": s.visitor()} {
		status, reply := s.ask("GET", old+"/messages", token, "")
		s.want(who, http.StatusNotFound, "NOT_FOUND", status, reply)
	}
	if status, reply := s.ask("GET", old+"/messages", ada, ""); status != http.StatusOK {
		t.Errorf("the reader finds %d %v", status, reply)
	}
	status, reply = s.ask("POST", "/api/conversations", "", "{}")
	s.want("a new one without a token", http.StatusUnauthorized, "IDENTITY_REQUIRED", status, reply)
}

// Without a setting, ids alone open conversations for 30 days after the first start. Each reply says when that ends, also after a restart;
// then the id opens nothing.
func TestClaimsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, nil)
		ends := time.Now().Add(claimTime)
		old := s.opens("")
		ada := s.visitor()
		read := func(token string) (status int, sunset string) {
			r := httptest.NewRequest("GET", "https://shop.example"+old+"/messages", nil)
			r.Header.Set("Origin", "https://shop.example")
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			w := httptest.NewRecorder()
			s.api.ServeHTTP(w, r)
			return w.Code, w.Header().Get("Sunset")
		}
		time.Sleep(claimTime - time.Minute)
		s.web.claims.found = time.Time{} // as after a restart
		if status, sunset := read(""); status != http.StatusOK || sunset != ends.UTC().Format(http.TimeFormat) {
			t.Errorf("before the end it is %d until %s; want until %v", status, sunset, ends)
		}
		if status, _ := read(ada); status != http.StatusOK {
			t.Errorf("it is claimed with %d", status)
		}
		time.Sleep(2 * time.Minute)
		for who, c := range map[string]struct {
			token string
			want  int
		}{"the id": {"", http.StatusNotFound}, "a late visitor": {s.visitor(), http.StatusNotFound}, "its reader": {ada, http.StatusOK}} {
			if status, _ := read(c.token); status != c.want {
				t.Errorf("after the end, %s finds %d; want %d", who, status, c.want)
			}
		}
	})
}

// A token of the site is refused unless all of it is right.
func TestAccountTokens(t *testing.T) {
	s := newSite(t, nil)
	other := func(name string, value any) func(jwt.MapClaims) {
		return func(c jwt.MapClaims) { c[name] = value }
	}
	unsigned := require.Value(jwt.NewWithClaims(jwt.SigningMethodNone, jwt.MapClaims{"sub": "ada"}).SignedString(jwt.UnsafeAllowNoneSignatureType))(t)
	for name, c := range map[string]struct{ token, code string }{
		"right":                   {account(t, "ada", nil), ""},
		"a clock a little behind": {account(t, "ada", other("exp", time.Now().Add(-30*time.Second).Unix())), ""},
		"a clock a little ahead":  {account(t, "ada", other("iat", time.Now().Add(30*time.Second).Unix())), ""},
		"expired":                 {account(t, "ada", other("exp", time.Now().Add(-time.Hour).Unix())), "TOKEN_EXPIRED"},
		"from the future":         {account(t, "ada", other("iat", time.Now().Add(time.Hour).Unix())), "UNAUTHORIZED"},
		"valid for a day":         {account(t, "ada", other("exp", time.Now().Add(24*time.Hour).Unix())), "UNAUTHORIZED"},
		"without an end":          {account(t, "ada", func(c jwt.MapClaims) { delete(c, "exp") }), "UNAUTHORIZED"},
		"for another site":        {account(t, "ada", other("aud", "https://other.example")), "UNAUTHORIZED"},
		"without an account":      {account(t, "", nil), "UNAUTHORIZED"},
		"unsigned":                {unsigned, "UNAUTHORIZED"},
		"with another signature":  {account(t, "ada", nil)[:60] + "x", "UNAUTHORIZED"},
		"of a visitor, made up":   {"visitor_AAAA", "UNAUTHORIZED"},
		"of a key, made up":       {"parley_AAAA", "UNAUTHORIZED"},
	} {
		status, reply := s.ask("GET", "/api/conversations", c.token, "")
		want := http.StatusOK
		if c.code != "" {
			want = http.StatusUnauthorized
		}
		s.want(name, want, c.code, status, reply)
	}
	one := s.opens(account(t, "ada/..", nil))
	s.ask("POST", one+"/messages/stream", account(t, "ada/..", other("name", "Ada")), `{"text":"hi","name":"Owner"}`)
	if m, ok := s.said[0].(chat.Message); !ok || m.Author != "web/user/ada%2F.." || m.Name != "Ada" || m.Address.BilledTo != m.Author || m.Address.Details {
		t.Errorf("said is %+v", s.said)
	}
}

// With require_identity no route works for anonymous visitors.
func TestIdentityIsRequired(t *testing.T) {
	var open, mine string
	s := newSite(t, nil)
	open, mine = s.opens(""), s.opens(account(t, "ada", nil))
	s.web.opts.RequireIdentity = true
	routes := append([][3]string{{"POST", "/api/visitors", ""}, {"POST", "/api/conversations", "{}"}, {"GET", "/api/conversations", ""}}, conversationRoutes...)
	for i, route := range routes {
		path := route[1]
		if i > 2 {
			path = open + path
		}
		status, reply := s.ask(route[0], path, "", route[2])
		s.want(route[0]+" "+route[1], http.StatusUnauthorized, "IDENTITY_REQUIRED", status, reply)
	}
	if status, reply := s.ask("GET", mine+"/messages", account(t, "ada", nil), ""); status != http.StatusOK {
		t.Errorf("an account gets %d %v", status, reply)
	}
}

// After a sign-in, the browser's conversations are offered to the account, and belong to it once it takes them.
func TestConversationsAreOfferedToAnAccount(t *testing.T) {
	s := newSite(t, nil)
	visitor, ada, bob := s.visitor(), account(t, "ada", nil), account(t, "bob", nil)
	one, two := s.opens(visitor), s.opens(visitor)
	offer := `{"visitorToken":"` + visitor + `"`
	_, reply := s.ask("POST", "/api/account/conversations", ada, offer+"}")
	if all, _ := reply["conversations"].([]any); len(all) != 2 {
		t.Errorf("offered are %v", reply)
	}
	if status, _ := s.ask("GET", one+"/messages", ada, ""); status != http.StatusNotFound {
		t.Errorf("an offer opens a conversation: %d", status)
	}
	take := offer + `,"ids":["` + strings.TrimPrefix(one, "/api/conversations/") + `"]}`
	s.ask("POST", "/api/account/conversations", ada, take)
	s.ask("POST", "/api/account/conversations", bob, take)
	for who, c := range map[string]struct {
		token, path string
		want        int
	}{
		"the account": {ada, one, 200}, "the visitor before": {visitor, one, 404}, "another account": {bob, one, 404},
		"the visitor, the other one": {visitor, two, 200}, "the account, the other one": {ada, two, 404},
	} {
		if status, _ := s.ask("GET", c.path+"/messages", c.token, ""); status != c.want {
			t.Errorf("%s: %d; want %d", who, status, c.want)
		}
	}
	s.ask("POST", two+"/messages/stream", visitor, `{"text":"How deep is the sea?","clientMessageId":"1"}`)
	s.ask("POST", "/api/account/conversations", ada, offer+`,"ids":["`+strings.TrimPrefix(two, "/api/conversations/")+`"]}`)
	room := strings.TrimPrefix(two, "/api/conversations/")
	before := len(s.said)
	status, reply := s.ask("POST", two+"/messages/web%2F"+room+"%2F1/again/stream", ada, `{"text":"How deep is the lake?"}`)
	if s.want("answered again is no last question here", http.StatusConflict, "CONFLICT", status, reply); len(s.said) == before || s.said[before].(chat.Edited).Author != chat.EntityID("web/"+room) {
		t.Errorf("the visitor's question is answered again as %+v", s.said[before:])
	}
	require.NoError(t, (door{s.web}).note(t.Context(), roomOf(room), "web/user/bob", readerGranted, time.Time{}))
	status, reply = s.ask("POST", two+"/messages/web%2F"+room+"%2F1/again/stream", bob, `{}`)
	s.want("another reader", http.StatusForbidden, "FORBIDDEN", status, reply)
	status, reply = s.ask("POST", "/api/account/conversations", visitor, offer+"}")
	s.want("without an account", http.StatusUnauthorized, "IDENTITY_REQUIRED", status, reply)
}

// Several accounts that take over a visitor's conversation at the same moment don't all get it: one does.
func TestOneAccountTakesAConversationOver(t *testing.T) {
	s := newSite(t, nil)
	visitor := s.visitor()
	one := s.opens(visitor)
	take := `{"visitorToken":"` + visitor + `","ids":["` + strings.TrimPrefix(one, "/api/conversations/") + `"]}`
	var all sync.WaitGroup
	for i := range 8 {
		token := account(t, "account"+strconv.Itoa(i), nil)
		all.Go(func() { s.ask("POST", "/api/account/conversations", token, take) })
	}
	all.Wait()
	open := 0
	for i := range 8 {
		if status, _ := s.ask("GET", one+"/messages", account(t, "account"+strconv.Itoa(i), nil), ""); status == http.StatusOK {
			open++
		}
	}
	if status, _ := s.ask("GET", one+"/messages", visitor, ""); open != 1 || status != http.StatusNotFound {
		t.Errorf("%d accounts can open the conversation, and its visitor gets %d; want one, and 404", open, status)
	}
}

// A response that follows one of another visitor, or one that does not exist, is refused: without the earlier messages it would be about
// something else.
func TestResponsesFollowOwnOnes(t *testing.T) {
	s := newSite(t, nil)
	ada, bob := account(t, "ada", nil), account(t, "bob", nil)
	r := httptest.NewRequest("POST", "/", http.NoBody)
	r = r.WithContext(context.WithValue(t.Context(), readerKey{}, reader{id: "web/user/ada"}))
	id, no := clients{s.web}.ownID(r, "response/c")
	if no == nil {
		_, no = door{s.web}.create(r, id)
	}
	if no != nil {
		t.Fatal(no)
	}
	if status, _ := s.ask("POST", "/v1/responses/resp_63_1/cancel", ada, "{}"); status != http.StatusOK {
		t.Fatalf("the own response: %d", status)
	}
	for name, previous := range map[string]string{"another's": "resp_63_1", "none": "resp_64_1", "no id": "resp_?", "no response": "x"} {
		status, reply := s.ask("POST", "/v1/responses", bob, `{"input":"And then?","previous_response_id":"`+previous+`"}`)
		if failed, _ := reply["error"].(map[string]any); status != http.StatusNotFound || failed["code"] != "NOT_FOUND" || len(s.said) > 1 {
			t.Errorf("%s: %d %v", name, status, reply)
		}
	}
}

// A key has scopes, ends, and is refused soon after it is revoked.
func TestKeys(t *testing.T) {
	s := newSite(t, nil)
	keys := s.web.keys.Keys
	key, made, err := keys.Create(t.Context(), identity.Key{Name: "reader", Scopes: []string{"read"}, Ends: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	if kept, _ := s.web.opts.Memo.Kept(t.Context(), identity.KeysName); strings.Contains(kept, key) {
		t.Error("the key itself is stored")
	}
	if status, reply := s.ask("GET", "/api/conversations", key, ""); status != http.StatusOK {
		t.Errorf("reading: %d %v", status, reply)
	}
	status, reply := s.ask("POST", "/api/conversations", key, "{}")
	s.want("writing", http.StatusForbidden, "SCOPE_MISSING", status, reply)
	require.NoError(t, keys.Revoke(t.Context(), made.ID))
	s.web.keys = &identity.Ring{Keys: keys} // as after [identity.KeyFresh]
	status, reply = s.ask("GET", "/api/conversations", key, "")
	s.want("revoked", http.StatusUnauthorized, "UNAUTHORIZED", status, reply)
}

// One visitor of an office can't use up the limit of the others; all together have one too.
func TestVisitorsOfAnOfficeHaveLimitsOfTheirOwn(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Limits = Limits{MessagesPerMinute: 2, ConversationsPerHour: 60} })
	writes := func(token, path string) int {
		status, _ := s.ask("POST", path+"/messages/stream", token, `{"text":"hi"}`)
		return status
	}
	one, two := s.visitor(), s.visitor()
	first, second := s.opens(one), s.opens(two)
	for i, want := range []int{200, 200, 429} {
		if got := writes(one, first); got != want {
			t.Errorf("message %d: %d", i, got)
		}
	}
	if got := writes(two, second); got != http.StatusOK {
		t.Errorf("a colleague: %d", got)
	}
	refused := 0
	for range office {
		token := s.visitor()
		path := s.opens(token)
		for range 2 {
			if writes(token, path) == http.StatusTooManyRequests {
				refused++
			}
		}
	}
	if refused == 0 {
		t.Error("new tokens have no limit together")
	}
}

// Anonymous visitors of a site have a limit together, whatever their addresses. Other sites and accounts don't share it.
func TestAnonymousVisitorsOfASiteHaveALimit(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Origins = append(o.Origins, "https://other.example") })
	l, asked := newLimiter(2, time.Hour), 0
	charge := func(origin string, who reader) *refusal {
		asked++
		r := httptest.NewRequestWithContext(context.WithValue(t.Context(), readerKey{}, who), "POST", "https://shop.example/", nil)
		r.RemoteAddr = fmt.Sprintf("198.51.%d.%d:4000", asked>>8, asked&255)
		r.Header.Set("Origin", origin)
		return s.web.charge(r, l)
	}
	for i := range 2 * crowd {
		who := reader{}
		if i%2 == 1 {
			who.id = chat.EntityID(fmt.Sprintf("web/visitor/%d", i))
		}
		if charge("https://shop.example", who) != nil {
			t.Fatalf("visitor %d is refused", i)
		}
	}
	for name, who := range map[string]reader{"new address": {}, "new visitor": {id: "web/visitor/x"}} {
		if no := charge("https://shop.example", who); no == nil || no.status != http.StatusTooManyRequests || no.wait == 0 {
			t.Errorf("%s: %+v; want 429 with the time to wait", name, no)
		}
	}
	if charge("https://shop.example", reader{id: "web/user/ada", known: true}) != nil || charge("https://shop.example", reader{id: Owner, owner: true}) != nil || charge("https://other.example", reader{}) != nil {
		t.Error("an account, the owner, or a visitor of another site is refused")
	}
}

// The owner grants a conversation to an account, and revokes it. For others there is no such route.
func TestOwnerGrants(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Origins = append(o.Origins, "http://127.0.0.1") })
	ada, bob := account(t, "ada", nil), account(t, "bob", nil)
	theirs := s.opens(ada)
	status, reply := s.ask("PUT", theirs+"/readers/web/user/bob", ada, "")
	s.want("the reader grants", http.StatusNotFound, "NOT_FOUND", status, reply)
	owner := context.WithValue(t.Context(), readerKey{}, reader{id: Owner, owner: true})
	door := door{s.web}
	room := roomOf(strings.TrimPrefix(theirs, "/api/conversations/"))
	call := func(handle http.HandlerFunc, who string) int {
		r := httptest.NewRequestWithContext(owner, "PUT", theirs+"/readers/"+who, nil)
		r.SetPathValue("id", strings.TrimPrefix(string(room), "web/"))
		r.SetPathValue("reader", who)
		w := httptest.NewRecorder()
		handle(w, r)
		return w.Code
	}
	if got := call(answering(door.grant), "discord/1"); got != http.StatusBadRequest {
		t.Errorf("another platform's account: %d", got)
	}
	for _, step := range []struct {
		handle http.HandlerFunc
		want   int
	}{{answering(door.grant), 200}, {answering(door.revoke), 404}} {
		if got := call(step.handle, "web/user/bob"); got != http.StatusOK {
			t.Errorf("the owner's change: %d", got)
		}
		if status, _ := s.ask("GET", theirs+"/messages", bob, ""); status != step.want {
			t.Errorf("bob: %d; want %d", status, step.want)
		}
	}
}
