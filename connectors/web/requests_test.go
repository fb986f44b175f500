package web

import (
	"net/http"
	"testing"

	"parley/core/answer"
)

// The scheme of a token has no case, and a public link is read with any token.
func TestAuthorizationForms(t *testing.T) {
	s := newSite(t, nil)
	ada := account(t, "ada", nil)
	for scheme, want := range map[string]int{"Bearer": 200, "bearer": 200, "BEARER": 200, "Bearer ": 200, "Basic": 401, "": 401} {
		if got, _ := s.ask(http.MethodGet, "/api/conversations", "", "", "Authorization: "+scheme+" "+ada); got != want {
			t.Errorf("with %q the status is %d, want %d", scheme, got, want)
		}
	}
	_, opened := s.ask(http.MethodPost, "/api/conversations", ada, "")
	path := "/api/conversations/" + opened["conversation"].(map[string]any)["id"].(string)
	s.ask(http.MethodPost, path+"/messages/stream", ada, `{"text":"hi"}`)
	_, shared := s.ask(http.MethodPost, path+"/shares", ada, `{}`)
	link := "/" + shared["share"].(map[string]any)["url"].(string)
	for _, token := range []string{"", ada, "wrong", account(t, "eve", nil)} {
		if got, _ := s.ask(http.MethodGet, link, token, "", "Accept: application/json"); got != http.StatusOK {
			t.Errorf("with the token %.10q the link has the status %d", token, got)
		}
	}
}

// The name of a file is one line, on every way in.
func TestFileNamesAreOneLine(t *testing.T) {
	s := newSite(t, nil)
	ada := account(t, "ada", nil)
	_, opened := s.ask(http.MethodPost, "/api/conversations", ada, "")
	path := "/api/conversations/" + opened["conversation"].(map[string]any)["id"].(string)
	status, file := s.ask(http.MethodPost, path+"/files?clientFileId=f&name=a%0D%0Ab%00%E2%80%AE.txt", ada, "text", "Content-Type: text/plain")
	if got := file["file"].(map[string]any)["name"]; status != http.StatusCreated || got != "a b.txt" {
		t.Errorf("%d: the name is %q", status, got)
	}
	i, no := picture{Data: "aGk=", MimeType: "image/png", Name: "a\r\nb.png"}.decode()
	if no != nil || i.name != "a b.png" {
		t.Errorf("the name of an image is %q, %v", i.name, no)
	}
}

// Tabs that come back to an answer cost no more than reading: otherwise the later ones of many are refused.
func TestManyTabsComeBack(t *testing.T) {
	limits := func(o *Options) { o.Limits = Limits{MessagesPerMinute: 6} } // 60 attempts, 120 reads
	serve(t, limits, accept, func(client *http.Client, a *answer.Answer) {
		a.End(answer.Outcome{Status: answer.Completed})
		last := 0
		for i := range 125 {
			resp, body := post(t, client, "/api/conversations/c/messages/stream", `{"text":"hi","clientMessageId":"known"}`)
			if last = resp.StatusCode; i < 100 && last != http.StatusOK {
				t.Fatalf("tab %d has %d %s", i, last, body)
			}
		}
		if last != http.StatusTooManyRequests {
			t.Errorf("the last of many attempts has %d", last)
		}
		if resp, body := post(t, client, "/api/conversations/c/messages/stream", `{"text":"hi"}`); resp.StatusCode != http.StatusOK {
			t.Errorf("then a new message has %d %s", resp.StatusCode, body)
		}
	})
}
