package web

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/require"
)

// A conversation that can't be looked up is no empty one: every address of it says so, and it is logged.
func TestConversationCannotBeRead(t *testing.T) {
	var log bytes.Buffer
	heard := 0
	submit := func(chat.Inbound) (chat.Accepted, error) { heard++; return chat.Accepted{}, nil }
	edit := func(o *Options) {
		o.Store, o.Log = rooms{broken: errors.New("out of reach")}, slog.New(slog.NewTextHandler(&log, nil))
	}
	serve(t, edit, submit, func(client *http.Client, _ *answer.Answer) {
		for _, c := range []struct{ method, path, body string }{
			{"GET", historyPath, ""},
			{"POST", streamPath, `{"text":"a"}`},
			{"POST", "/api/conversations/c/choices/stream", `{"id":"q","option":0}`},
			{"POST", "/api/conversations/c/stop", ""},
			{"DELETE", "/api/conversations/c", ""},
		} {
			time.Sleep(failuresApart)
			log.Reset()
			r := require.Value(http.NewRequest(c.method, "http://127.0.0.1:8080"+c.path, strings.NewReader(c.body)))(t)
			r.Header.Set("Content-Type", "application/json")
			resp := require.Value(client.Do(r))(t)
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), "Please try again.") {
				t.Errorf("%s %s: %d %s %v", c.method, c.path, resp.StatusCode, body, err)
			}
			if !strings.Contains(log.String(), "out of reach") {
				t.Errorf("%s %s: the log says %q", c.method, c.path, log.String())
			}
		}
	})
	if heard > 0 {
		t.Errorf("%d were accepted", heard)
	}
}
