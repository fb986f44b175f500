package parley_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"parley/core"
)

// The web chat: /new asks, another conversation can't answer, the right one can, once (SE-07).
func TestNewOnTheWeb(t *testing.T) {
	tell(t, nil, func(s *story) {
		c, other := s.open(), s.open()
		s.all(s.send(c, "1", "Hello"))
		s.all(s.send(other, "1", "Hello"))
		asked := s.all(s.send(c, "2", "/new"))
		q, err := s.node.store.QuestionOf(s.Context(), core.RunID(asked.MessageID))
		s.must(err)
		choose := func(conversation string) (int, string) {
			body, err := json.Marshal(map[string]any{"id": q.ID, "option": 1})
			s.must(err)
			resp, err := s.browser.HTTP.Post(s.browser.Base+"/api/conversations/"+conversation+"/choices/stream", "application/json", bytes.NewReader(body))
			s.must(err)
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			s.must(err)
			return resp.StatusCode, string(text)
		}
		if status, text := choose(other); status != http.StatusConflict {
			s.Errorf("another conversation: %d %s", status, text)
		}
		if status, text := choose(c); status != http.StatusOK || !strings.Contains(text, "Then nothing is forgotten.") {
			s.Errorf("the right one: %d %s", status, text)
		}
		if status, text := choose(c); status != http.StatusConflict || !strings.Contains(text, "This is no longer open.") {
			s.Errorf("again: %d %s", status, text)
		}
	})
}
