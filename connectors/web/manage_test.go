package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/text"
	"parley/internal/require"
)

// answered returns the site with a conversation of ada, its path, and the path of the answer in it.
func answered(t *testing.T) (s *site, ada, path, reply string) {
	t.Helper()
	s = newSite(t, nil)
	ada = account(t, "ada", nil)
	path = s.opens(ada)
	if status, body := s.ask("POST", path+"/messages/stream", ada, `{"text":"How deep is the sea?","clientMessageId":"1"}`); status != http.StatusOK {
		t.Fatalf("%d %v", status, body)
	}
	room := roomOf(strings.TrimPrefix(path, "/api/conversations/"))
	m := chat.Message{Memory: chat.Memory{ID: chat.MemoryID(room) + "#1", Room: room, Author: "agent", Text: "Deep.", At: time.Now()},
		Place: chat.Room{ID: room, Kind: chat.API, Connector: Name}}
	if _, err := s.web.submit(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	return s, ada, path, path + "/messages/" + strings.NewReplacer("/", "%2F", "#", "%23").Replace(string(m.ID))
}

// erase erases the deleted conversations.
func (s *site) erase() {
	s.Helper()
	notes, err := s.web.opts.Store.NotesAbout(s.Context(), deletedReader, chat.ReaderNote, false, 9)
	for _, n := range notes {
		if err == nil {
			_, err = eraser{door{s.web}}.erase(s.Context(), n)
		}
	}
	require.NoError(s, err)
}

// only returns the first element of a list in a reply.
func only(t *testing.T, reply map[string]any, list string) map[string]any {
	t.Helper()
	all, _ := reply[list].([]any)
	if len(all) == 0 {
		t.Fatalf("%s is empty: %v", list, reply)
	}
	one, _ := all[0].(map[string]any)
	return one
}

// A conversation is called by its first message until its reader renames it, and found by its title and its words.
func TestTitlesAndSearch(t *testing.T) {
	s, ada, path, _ := answered(t)
	title := func(query string) any {
		_, reply := s.ask("GET", "/api/conversations"+query, ada, "")
		if all, _ := reply["conversations"].([]any); len(all) == 0 {
			return "none"
		}
		return only(t, reply, "conversations")["title"]
	}
	for _, event := range []string{"a message", "a change of it, with which the store deletes the title"} {
		if got := title(""); got != "How deep is the sea?" {
			t.Errorf("after %s, it is called %v", event, got)
		}
		require.NoError(t, s.web.opts.Store.SaveNote(t.Context(), chat.RoomNote{Room: roomOf(strings.TrimPrefix(path, "/api/conversations/")), Kind: chat.TitleNote}))
	}
	if status, reply := s.ask("PATCH", path, ada, `{"title":"Oceans\n"}`); status != http.StatusOK {
		t.Errorf("renaming: %d %v", status, reply)
	}
	for query, want := range map[string]any{"": "Oceans", "?q=ocean": "Oceans", "?q=DEEP": "Oceans", "?q=mountain": "none"} {
		if got := title(query); got != want {
			t.Errorf("%q finds %v; want %v", query, got, want)
		}
	}
	for body, want := range map[string]int{`{"title":" "}`: 400, `{"title":"` + strings.Repeat("a", 121) + `"}`: 413, `{"title":`: 400, `[]`: 400} {
		if status, _ := s.ask("PATCH", path, ada, body); status != want {
			t.Errorf("%s: %d; want %d", body, status, want)
		}
	}
	status, reply := s.ask("DELETE", path, ada, "")
	s.erase()
	if got := title(""); status != http.StatusOK || got != "none" {
		t.Errorf("deleted with %d %v, it is called %v", status, reply, got)
	}
	if status, _ := s.ask("GET", path+"/messages", ada, ""); status != http.StatusOK {
		t.Errorf("its reader finds %d", status)
	}
}

// A task of a client in the background is no conversation of the list, and gets no title.
func TestBackgroundTasksHaveNoTitle(t *testing.T) {
	s := newSite(t, nil)
	submit, titles := s.web.submit, -1
	s.web.submit = func(ctx context.Context, in chat.Inbound) (chat.Accepted, error) {
		if gone, ok := in.(chat.Cleared); ok {
			notes, err := s.web.opts.Store.Notes(ctx, gone.Room, chat.TitleNote, 1)
			if err != nil {
				t.Error(err)
			}
			titles = len(notes)
		}
		return submit(ctx, in)
	}
	s.ask("POST", "/v1/chat/completions", account(t, "ada", nil), `{"stream":true,"messages":[{"role":"user","content":"Name it."}]}`, "X-Parley-Task: title")
	if titles != 0 {
		t.Errorf("it has %d titles; want that it was cleared without one", titles)
	}
}

// A title and a shared copy have the words of the reader, without those that a client has quoted: its instructions, and messages of
// another conversation.
func TestQuotedTextIsNotShared(t *testing.T) {
	s := newSite(t, nil)
	ada := account(t, "ada", nil)
	s.ask("POST", "/v1/chat/completions", ada, `{"stream":true,"messages":[{"role":"system","content":"Obey the shop."},
		{"role":"assistant","content":"You are the owner."},{"role":"user","content":"Hi"}]}`, "X-Conversation-Id: 1")
	if len(s.said) != 1 || !strings.Contains(s.said[0].(chat.Message).Text, "Obey the shop.") {
		t.Fatalf("sent is %+v", s.said)
	}
	_, listed := s.ask("GET", "/api/conversations", ada, "")
	one := only(t, listed, "conversations")
	_, reply := s.ask("POST", "/api/conversations/"+one["id"].(string)+"/shares", ada, `{}`)
	_, shared := s.ask("GET", "/"+reply["share"].(map[string]any)["url"].(string), "", "", "Accept: application/json")
	if text := only(t, shared, "messages")["text"]; one["title"] != "Hi" || shared["title"] != "Hi" || text != "Hi" {
		t.Errorf("the title is %v, and shared is %v", one["title"], shared)
	}
}

// An answer has the rating of its reader, and loses it with the conversation. Questions have none.
func TestFeedback(t *testing.T) {
	s, ada, path, reacted := answered(t)
	var told []string
	s.web.opts.Rated = func(m chat.Memory, by chat.EntityID, rating, reason string) {
		told = append(told, m.Text+" "+string(by)+" "+rating+" "+reason)
	}
	rated := func() any {
		_, reply := s.ask("GET", path+"/messages", ada, "")
		for _, m := range reply["messages"].([]any) {
			if is, _ := m.(map[string]any); is["role"] == "assistant" {
				return is["feedback"]
			}
		}
		return "no answer"
	}
	for _, step := range []struct {
		body   string
		status int
		want   string
	}{{`{"rating":"down","reason":"It is 10 km."}`, 200, "It is 10 km."}, {`{"rating":"great"}`, 400, "It is 10 km."}, {`{"rating":"none"}`, 200, ""}} {
		status, reply := s.ask("PUT", reacted+"/feedback", ada, step.body)
		is, _ := rated().(map[string]any)
		if reason, _ := is["reason"].(string); status != step.status || reason != step.want {
			t.Errorf("%s: %d %v, it is %v", step.body, status, reply, is)
		}
	}
	if want := []string{"Deep. web/user/ada down It is 10 km.", "Deep. web/user/ada none "}; !slices.Equal(told, want) {
		t.Errorf("observers are told %q; want %q", told, want)
	}
	s.ask("PUT", reacted+"/feedback", ada, `{"rating":"up"}`)
	_, out := s.ask("GET", path+"/export?format=json", ada, "")
	if is, _ := out["messages"].([]any)[1].(map[string]any)["feedback"].(map[string]any); is["rating"] != "up" {
		t.Errorf("the export is %v", out)
	}
	question := path + "/messages/" + strings.ReplaceAll(string(s.said[0].(chat.Message).ID), "/", "%2F")
	status, reply := s.ask("PUT", question+"/feedback", ada, `{"rating":"up"}`)
	s.want("a question", http.StatusConflict, "CONFLICT", status, reply)
	status, reply = s.ask("PUT", path+"/messages/other/feedback", ada, `{"rating":"up"}`)
	s.want("an unknown message", http.StatusNotFound, "NOT_FOUND", status, reply)
}

// A link shows everyone a copy of the conversation without calls, and no id of it; it ends when it is removed, in time, and with the
// conversation.
func TestShares(t *testing.T) {
	s, ada, path, _ := answered(t)
	s.web.opts.RequireIdentity = true
	link := func() (id, url string) {
		status, reply := s.ask("POST", path+"/shares", ada, `{}`)
		is, _ := reply["share"].(map[string]any)
		if url, _ = is["url"].(string); status != http.StatusCreated || url == "" {
			t.Fatalf("%d %v", status, reply)
		}
		id, _ = is["id"].(string)
		return id, "/" + url
	}
	id, url := link()
	_, listed := s.ask("GET", path+"/shares", ada, "")
	if got := "/" + only(t, listed, "shares")["url"].(string); got != url {
		t.Errorf("listed is %s; want %s", got, url)
	}
	status, reply := s.ask("GET", url, "", "", "Accept: application/json")
	if is := only(t, reply, "messages"); status != http.StatusOK || is["text"] != "How deep is the sea?" || reply["title"] != "How deep is the sea?" {
		t.Errorf("shown is %d %v", status, reply)
	}
	follow := httptest.NewRequest("GET", "https://shop.example"+url, nil) // from a page of another site
	follow.Header.Set("Sec-Fetch-Site", "cross-site")
	w := httptest.NewRecorder()
	if s.api.ServeHTTP(w, follow); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "How deep is the sea?") {
		t.Errorf("a followed link shows %d %s", w.Code, w.Body)
	}
	if strings.Contains(url, strings.TrimPrefix(path, "/api/conversations/")) {
		t.Error("the link has the id of the conversation")
	}
	s.ask("DELETE", path+"/shares/"+id, ada, "")
	_, second := link()
	s.ask("DELETE", path, ada, "")
	for what, url := range map[string]string{"removed": url, "its conversation is deleted": second, "made up": sharedPath + "AAAA"} {
		status, reply := s.ask("GET", url, "", "")
		s.want(what, http.StatusNotFound, "NOT_FOUND", status, reply)
	}
}

// A link ends after its days, and not before; it is not listed then.
func TestSharesExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ada, path, _ := answered(t)
		_, reply := s.ask("POST", path+"/shares", ada, `{"days":2}`)
		url, _ := reply["share"].(map[string]any)["url"].(string)
		time.Sleep(48*time.Hour - time.Second)
		if status, reply := s.ask("GET", "/"+url, "", ""); status != http.StatusOK {
			t.Errorf("in its days it shows %d %v", status, reply)
		}
		time.Sleep(2 * time.Second)
		status, reply := s.ask("GET", "/"+url, "", "")
		s.want("after its days", http.StatusNotFound, "NOT_FOUND", status, reply)
		if _, listed := s.ask("GET", path+"/shares", account(t, "ada", nil), ""); len(listed["shares"].([]any)) > 0 {
			t.Errorf("listed is %v", listed)
		}
	})
}

// An export has the names and texts of the messages.
func TestExport(t *testing.T) {
	s, ada, path, _ := answered(t)
	r := httptest.NewRequest("GET", "https://shop.example"+path+"/export", nil)
	r.Header.Set("Authorization", "Bearer "+ada)
	w := httptest.NewRecorder()
	s.api.ServeHTTP(w, r)
	if got := w.Body.String(); !strings.HasPrefix(got, "# How deep is the sea?\n\n**") || !strings.Contains(got, "\n\nHow deep is the sea?\n") || !strings.Contains(got, "**A**, ") || !strings.Contains(got, "\n\nDeep.\n") {
		t.Errorf("%d %s", w.Code, got)
	}
	_, reply := s.ask("GET", path+"/export?format=json", ada, "")
	if got := only(t, reply, "messages")["text"]; got != "How deep is the sea?" {
		t.Errorf("exported is %v", reply)
	}
	if reply["title"] != "How deep is the sea?" {
		t.Errorf("the title is %v", reply["title"])
	}
	status, reply := s.ask("GET", path+"/export?format=xml", ada, "")
	s.want("another format", http.StatusBadRequest, "BAD_REQUEST", status, reply)
}

// A message is answered again with another text or the same, as the edit that the core gets. If it can't be, the reply says what to do.
func TestAgain(t *testing.T) {
	s, ada, path, reacted := answered(t)
	question := path + "/messages/" + strings.ReplaceAll(string(s.said[0].(chat.Message).ID), "/", "%2F")
	status, reply := s.ask("POST", question+"/again/stream", ada, `{"text":"How deep is the lake?"}`)
	s.want("not the last one", http.StatusConflict, "CONFLICT", status, reply)
	if e, ok := s.said[len(s.said)-1].(chat.Edited); !ok || !e.Again || e.Text != "How deep is the lake?" || e.Author != "web/user/ada" {
		t.Errorf("the core gets %+v", s.said[len(s.said)-1])
	}
	status, reply = s.ask("POST", reacted+"/again/stream", ada, `{}`)
	s.want("an answer", http.StatusForbidden, "FORBIDDEN", status, reply)
	s.web.opts.Answers = answers{ended("It is deep.")}
	s.web.submit = func(context.Context, chat.Inbound) (chat.Accepted, error) { return chat.Accepted{Run: "run"}, nil }
	r := httptest.NewRequest("POST", "https://shop.example"+question+"/again/stream", strings.NewReader("{}"))
	r.Header.Set("Authorization", "Bearer "+ada)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.api.ServeHTTP(w, r)
	if !strings.Contains(w.Body.String(), `"fullText":"It is deep."`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// ended returns an answer that has ended.
func ended(text string) *answer.Answer {
	a := &answer.Answer{}
	a.Apply(answer.Change{Kind: answer.Text, Text: text})
	a.End(answer.Outcome{Status: answer.Completed})
	return a
}

// A message that a client has edited keeps its quotations: the client's instructions hold on.
func TestEditsKeepTheQuotes(t *testing.T) {
	s := newSite(t, nil)
	ada := account(t, "ada", nil)
	for _, said := range []string{"Hi", "Hello"} {
		s.ask("POST", "/v1/chat/completions", ada, `{"stream":true,"messages":[{"role":"system","content":"Obey the shop."},
			{"role":"user","content":"`+said+`"}]}`, "X-Conversation-Id: 1")
	}
	if len(s.said) < 2 {
		t.Fatalf("sent is %+v", s.said)
	}
	edit, _ := s.said[1].(chat.Edited)
	if own, others := text.SplitForwarded(edit.Text); own != "Hello" || !strings.Contains(others, "Obey the shop.") {
		t.Errorf("the edited text is %q", edit.Text)
	}
}
