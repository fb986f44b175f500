package stories_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"parley/core/chat"
	"parley/internal/golden"
	"parley/internal/require"
	"parley/models/modelfake"
)

// recordedRequest is one request of a client, in the order of a user's session.
type recordedRequest struct {
	What    string
	Headers map[string]string
	Body    json.RawMessage
}

// Sessions in the form that Open WebUI and LibreChat use: with their headers, histories and tasks in the background. The transcript has each
// answer, and what the gateway remembers in the end. Titles, tags and follow-up questions are answered and not remembered.
func TestTranscriptsOfClients(t *testing.T) {
	for _, client := range []string{"openwebui", "librechat"} {
		t.Run(client, func(t *testing.T) {
			path := "testdata/transcripts/" + client
			data := require.Value(os.ReadFile(path + ".json"))(t)
			var session []recordedRequest
			require.NoError(t, json.Unmarshal(data, &session))
			withGateway(t, nil, func(s *harness) {
				s.choose = func(r modelfake.Request) modelfake.Script { // it answers what the user has written, without the quotations
					own, _, _ := strings.Cut(r.LastUser(), "\n\n*Embed:*")
					first, _, _ := strings.Cut(own, "\n")
					return modelfake.Script{modelfake.Text("You said: " + first)}
				}
				var b strings.Builder
				for _, r := range session {
					fmt.Fprintf(&b, "== %s\n%s\n", r.What, s.complete(r))
				}
				s.WaitIdle()
				for i, room := range s.roomsInOrder() {
					recent := require.Value(s.Store.Recent(s.Context(), room, chat.Said, 0, 100))(s)
					fmt.Fprintf(&b, "== remembered in conversation %d\n", i+1)
					for _, m := range recent {
						fmt.Fprintf(&b, "%s: %s\n", map[bool]string{true: "agent", false: "user"}[m.InReplyTo != ""], strings.ReplaceAll(m.Text, "\n", "\n    "))
					}
				}
				golden.Check(t, path+".txt", b.String())
			})
		})
	}
}

// complete sends a recorded request, and returns the text of the answer.
func (s *harness) complete(r recordedRequest) (answer string) {
	s.Helper()
	req := require.Value(http.NewRequestWithContext(s.Context(), http.MethodPost, s.browser.Base+"/v1/chat/completions", strings.NewReader(string(r.Body))))(s)
	req.Header.Set("Content-Type", "application/json")
	for name, value := range r.Headers {
		req.Header.Set(name, value)
	}
	resp := require.Value(s.browser.HTTP.Do(req))(s)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		return fmt.Sprintf("%d %s", resp.StatusCode, body)
	}
	var part struct {
		Choices []struct{ Message, Delta struct{ Content string } }
	}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data := strings.TrimPrefix(lines.Text(), "data: ")
		if !strings.HasPrefix(data, "{") {
			continue
		}
		s.Must(json.Unmarshal([]byte(data), &part))
		for _, c := range part.Choices {
			answer += c.Message.Content + c.Delta.Content
		}
		part.Choices = nil
	}
	s.Must(lines.Err())
	return answer
}

// roomsInOrder returns the rooms with messages, in the order of their first one.
func (s *harness) roomsInOrder() (all []chat.RoomID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(all, s.opened...)
}
