package stories_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"parley/core/chat"
	"parley/core/event"
	"parley/internal/require"
	"parley/internal/settings"
)

// A message that comes through the API with one of the default sources is answered, and would be in a group too, without being addressed to
// the agent. Without a source it is one of the page. Another source has no such right.
func TestSourcesOfTheAPI(t *testing.T) {
	for sent, want := range map[string]struct {
		source string
		always bool
	}{
		"": {"client_chat", true}, "client_chat": {"client_chat", true}, "api": {"api", true}, "postman": {"postman", true}, "my_client_chat": {"my_client_chat", false},
	} {
		t.Run(sent, func(t *testing.T) {
			withGateway(t, nil, func(s *harness) {
				body := `{"text":"Hello"}`
				if sent != "" {
					body = fmt.Sprintf(`{"text":"Hello","source":%q}`, sent)
				}
				resp, err := s.browser.HTTP.Post(s.browser.Base+"/api/conversations/"+s.newConversation()+"/messages/stream", "application/json", strings.NewReader(body))
				s.Must(err)
				defer resp.Body.Close()
				said := require.Value(io.ReadAll(resp.Body))(s)
				if resp.StatusCode != http.StatusOK || !strings.Contains(string(said), "You said: Hello") {
					t.Errorf("%d %s", resp.StatusCode, said)
				}
				synctest.Wait() // observers hear a little later
				got, policy := s.events.received(), settings.Access(s.cfg)
				if len(got) != 1 || got[0].Source != want.source {
					t.Fatalf("received was %+v", got)
				}
				if m := (chat.Message{Source: got[0].Source, Place: chat.Room{ID: "group", Kind: chat.Group}}); policy.IsAlways(m) != want.always {
					t.Errorf("in a group it is answered always: %v", !want.always)
				}
			})
		})
	}
}

// received are the messages that observers heard of.
func (e *eventLog) received() (all []chat.Message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ev := range e.all {
		if r, ok := ev.(event.MessageReceived); ok {
			all = append(all, r.Message)
		}
	}
	return all
}
