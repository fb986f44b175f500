package parley_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	. "parley/connectors/connectortest"

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

// presser is a world whose messages may have buttons.
type presser interface {
	Press(from Who, in Place, option int)
	PressAgain(from Who, in Place, data string)
	Buttons(in Place) []string
	Told() []string
}

// SE-07 on both platforms: a group sees the buttons, and only who asked for them may press; once, and not after a stop.
func TestNewInAGroup(t *testing.T) {
	onEach(t, nil, func(c *chat) {
		w := c.World.(presser)
		c.Mention(Ada, c.group, "hello")
		c.pass(time.Minute)
		c.Mention(Ada, c.group, "/new")
		c.pass(time.Minute)
		if got := w.Buttons(c.group); !slices.Equal(got, []string{"Forget it", "Keep it"}) {
			c.Fatalf("the buttons are %q", got)
		}
		w.Press(Eve, c.group, 0)
		c.pass(time.Minute)
		w.Press(Ada, c.group, 1)
		c.pass(time.Minute)
		told := w.Told()
		if len(told) != 2 || told[0] != "This is not for you to choose." || told[1] != "" || len(w.Buttons(c.group)) != 0 {
			c.Errorf("told was %q; the buttons are %q", told, w.Buttons(c.group))
		}
		lines := c.Sees(c.group)
		if last := bare(lines[len(lines)-1].Text); !strings.HasSuffix(last, bare("→ Keep it (Ada) Then nothing is forgotten.")) {
			c.Errorf("the message says %q", lines[len(lines)-1].Text)
		}
		w.PressAgain(Ada, c.group, "UNKNOWN:0")
		c.pass(time.Minute)
		c.Mention(Ada, c.group, "/new")
		c.pass(time.Minute)
		c.Mention(Ada, c.group, "/stop")
		c.pass(time.Minute)
		w.Press(Ada, c.group, 0)
		c.pass(time.Minute)
		if told := w.Told(); len(told) != 4 || told[2] != "This is no longer open." || told[3] != "This is no longer open." {
			c.Errorf("told was %q", told)
		}
	})
}
