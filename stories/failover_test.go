package stories_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"parley/config"
	. "parley/connectors/connectortest"
	"parley/core/answer"
	. "parley/models/modelfake"
)

const wrong = "Tomorrow it will rain all day long, so"

// another is the notice as people read it.
var another = strings.Trim(answer.AnotherModel, "_")

// withSpare gives the agent a second model.
func withSpare(cfg *config.Config) {
	withMusic(cfg)
	cfg.Models.Chat = []config.ChatModel{
		{Name: "main", Provider: config.ProviderOpenAI, Model: DefaultModel, Fallback: []string{"spare"}},
		{Name: "spare", Provider: config.ProviderOpenAI, Model: DefaultModel},
	}
}

// failures are what the first model does, and what people see at last.
func failures() map[string]struct {
	scripts []Script
	shows   []string
} {
	return map[string]struct {
		scripts []Script
		shows   []string
	}{
		"before the first token": {[]Script{{BadGateway()}, {Text(fox)}}, []string{another, fox}},
		"in mid-text":            {[]Script{{Text(wrong), Pause(5 * time.Second), Cut()}, {Text(fox)}}, []string{another, fox}},
		"while it writes a call": {
			[]Script{{Text(wrong), Pause(5 * time.Second), After(4, Cut()), ToolCall("c1", "PLAY_MUSIC", `{"title":"so what"}`, ByBytes(3))}, {Text(fox)}},
			[]string{another, fox},
		},
		"after a call": {
			[]Script{plays("so what")[0], {Text(wrong), Pause(5 * time.Second), Cut()}, {Text(enjoy)}},
			[]string{letMe, strings.ReplaceAll(playing, "**", ""), another, enjoy},
		},
	}
}

// When a model fails, the next one continues: what was written is taken back, what was done stays and is done once, and people are
// told. Neither the notice nor what was taken back comes into the next prompt.
func TestFailoverInChats(t *testing.T) {
	for name, f := range failures() {
		t.Run(name, func(t *testing.T) {
			onEach(t, withSpare, func(c *chatStory) {
				c.music()
				c.model.Queue(f.scripts...)
				c.Say(Ada, c.ada, "Tell me")
				c.read(c.ada, f.shows[len(f.shows)-1])
				c.rest()
				seen := c.Sees(c.ada)
				text := strings.NewReplacer("_", "", "*", "").Replace(seen[len(seen)-1].Text)
				if len(seen) != 2 || text != strings.Join(f.shows, "\n\n") {
					t.Errorf("people see %d messages, at last:\n%s", len(seen)-1, text)
				}
				c.model.Queue(Script{Text("Sure.")})
				c.Say(Ada, c.ada, "Really?")
				c.read(c.ada, "Sure")
				all := c.model.Requests()
				checkPrompt(t, all[len(all)-1].Raw)
			})
		})
	}
}

// The page shows the same, live and after a reload, where the notice is gone.
func TestFailoverOnThePage(t *testing.T) {
	for name, f := range failures() {
		t.Run(name, func(t *testing.T) {
			tell(t, withSpare, func(s *story) {
				s.music()
				s.model.Queue(f.scripts...)
				id := s.open()
				st := s.send(id, "k1", "Tell me")
				done := s.all(st)
				live := strings.NewReplacer("_(", "(", ")_", ")", "*", "").Replace(st.Text())
				if want := strings.Join(f.shows, "\n\n"); live != want || *done.FullText != st.Text() {
					t.Errorf("the page shows:\n%s\nand at last:\n%s", live, *done.FullText)
				}
				lines, err := s.browser.Reload(s.Context(), id)
				s.must(err)
				want := strings.ReplaceAll(strings.Join(f.shows, "\n\n"), another+"\n\n", "")
				if got := strings.ReplaceAll(lines[1].Text, "*", ""); got != want {
					t.Errorf("a reload shows:\n%s", got)
				}
				s.model.Queue(Script{Text("Sure.")})
				s.all(s.send(id, "k2", "Really?"))
				all := s.model.Requests()
				checkPrompt(t, all[len(all)-1].Raw)
			})
		})
	}
}

// checkPrompt fails if a request holds what people alone were told, or what was taken back.
func checkPrompt(t *testing.T, request json.RawMessage) {
	t.Helper()
	for _, text := range []string{"Another one answers", wrong} {
		if bytes.Contains(request, []byte(text)) {
			t.Errorf("the next prompt has %q:\n%s", text, request)
		}
	}
}
