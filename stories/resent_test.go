package stories_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/internal/require"
	"parley/models/modelfake"
)

// forgetConversation has the page forget a conversation.
func (s *harness) forgetConversation(id string) {
	s.Helper()
	if status, reply := s.request(http.MethodDelete, "/api/conversations/"+id, "", nil); status != http.StatusOK {
		s.Fatalf("to forget is %d %s; want %d", status, reply, http.StatusOK)
	}
}

// A reader that comes when the answer has ended, also from the next process, reads its usage as the first one did.
func TestUsageOfAnEndedAnswer(t *testing.T) {
	withGateway(t, nil, func(s *harness) {
		id := s.newConversation()
		first := string(s.readAll(s.send(id, "k1", "Hello")).Raw)
		later := string(s.readAll(s.send(id, "k1", "Hello")).Raw)
		s.shutdown()
		s.start()
		next := string(s.readAll(s.send(id, "k1", "Hello")).Raw)
		if !strings.Contains(first, `"usage":{`) || later != first || next != first {
			t.Errorf("it ends with\n%s\n%s\n%s", first, later, next)
		}
	})
}

// IN-17: a page that sends a message again whose conversation was forgotten meanwhile gets no second answer, also from the next
// process, and nothing of the first; what it sends then is answered.
func TestResentAfterItWasForgotten(t *testing.T) {
	withGateway(t, nil, func(s *harness) {
		id := s.newConversation()
		s.readAll(s.send(id, "k1", "Hello"))
		s.forgetConversation(id)
		s.shutdown()
		s.start()
		if end := s.readAll(s.send(id, "k1", "Hello")); *end.FullText != "" || end.NoResponse != "ignored" {
			t.Errorf("sent again it ends with %s", end.Raw)
		}
		time.Sleep(time.Minute)
		s.wantModelCalls(1)
		if end := s.readAll(s.send(id, "k2", "Hello")); *end.FullText == "" {
			t.Errorf("a new message ends with %s", end.Raw)
		}
		s.allowDeletion()
	})
}

// WB-13: who comes back to an answer finds it, however many messages there were, also after its end; a new one has to wait.
func TestRejoiningAtTheLimit(t *testing.T) {
	withGateway(t, func(cfg *config.Config) {
		cfg.Web.Limits.MessagesPerMinute = 1
		cfg.Limits.Person = quotaOf(1, 0)
	}, func(s *harness) {
		c := s.newConversation()
		s.model.Queue(modelfake.Script{modelfake.Pace(time.Second), modelfake.Text(fox, modelfake.ByWord)})
		first := s.send(c, "m1", "Tell me")
		s.readUntil(first, "brown")
		first.Close()
		for range 3 {
			again := s.send(c, "m1", "Tell me")
			s.readUntil(again, "brown")
			again.Close()
		}
		st := require.Value(s.browser.Send(s.Context(), c, "m2", "And now?"))(s)
		if st.Status != http.StatusTooManyRequests {
			t.Errorf("a new message is answered %d; want %d", st.Status, http.StatusTooManyRequests)
		}
		for range 2 {
			if got := *s.readAll(s.send(c, "m1", "Tell me")).FullText; got != fox {
				t.Errorf("it ends with %q; want %q", got, fox)
			}
		}
		s.wantModelCalls(1)
	})
}
