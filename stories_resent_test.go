package parley_test

import (
	"net/http"
	"testing"
	"time"

	"parley/sim"
)

// forgets has the page forget a conversation.
func (s *story) forgets(id string) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), http.MethodDelete, s.browser.Base+"/api/conversations/"+id, nil)
	s.must(err)
	resp, err := s.browser.HTTP.Do(r)
	s.must(err)
	s.must(resp.Body.Close())
	if resp.StatusCode != http.StatusOK {
		s.Fatalf("to forget is %d", resp.StatusCode)
	}
}

// IN-17: a page that sends a message again whose conversation was forgotten meanwhile gets no second answer, also from the next
// process, and nothing of the first; what it sends then is answered.
func TestResentAfterItWasForgotten(t *testing.T) {
	tell(t, nil, func(s *story) {
		id := s.open()
		s.all(s.send(id, "k1", "Hello"))
		s.forgets(id)
		s.shutdown()
		s.start()
		if end := s.all(s.send(id, "k1", "Hello")); *end.FullText != "" || end.NoResponse != "ignored" {
			t.Errorf("sent again it ends with %s", end.Raw)
		}
		time.Sleep(time.Minute)
		if n := len(s.model.Requests()); n != 1 {
			t.Errorf("the model was asked %d times", n)
		}
		if end := s.all(s.send(id, "k2", "Hello")); *end.FullText == "" {
			t.Errorf("a new message ends with %s", end.Raw)
		}
		s.looks = append(s.looks, func(e *sim.Evidence) []string {
			e.Seen, e.Accepted = nil, nil // what was said first is not remembered
			return nil
		})
	})
}
