package stories_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/internal/lang"
	"parley/internal/subtest"
	"parley/models/modelfake"
)

const wrong = "Tomorrow it will rain all day long, so"

// another is the notice as people read it.
var another = "(" + lang.Voice{}.Say("notice.another_model") + ")"

// withSpare gives the agent a second model.
func withSpare(cfg *config.Config) {
	withMusic(cfg)
	cfg.Models.Chat = []config.ChatModel{
		{Name: "main", Provider: config.ProviderOpenAI, Model: modelfake.DefaultModel, Fallback: []string{"spare"}},
		{Name: "spare", Provider: config.ProviderOpenAI, Model: modelfake.DefaultModel},
	}
}

// failures are what the first model does, and what people see at last.
func failures() map[string]struct {
	scripts []modelfake.Script
	shows   []string
} {
	return map[string]struct {
		scripts []modelfake.Script
		shows   []string
	}{
		"before the first token": {[]modelfake.Script{{modelfake.BadGateway()}, {modelfake.Text(fox)}}, []string{another, fox}},
		"in mid-text":            {[]modelfake.Script{{modelfake.Text(wrong), modelfake.Pause(5 * time.Second), modelfake.Cut()}, {modelfake.Text(fox)}}, []string{another, fox}},
		"while it writes a call": {
			[]modelfake.Script{{modelfake.Text(wrong), modelfake.Pause(5 * time.Second), modelfake.After(4, modelfake.Cut()), modelfake.ToolCall("c1", "PLAY_MUSIC", `{"title":"so what"}`, modelfake.ByBytes(3))}, {modelfake.Text(fox)}},
			[]string{another, fox},
		},
		"after a call": {
			[]modelfake.Script{playScript("so what")[0], {modelfake.Text(wrong), modelfake.Pause(5 * time.Second), modelfake.Cut()}, {modelfake.Text(enjoy)}},
			[]string{letMe, strings.ReplaceAll(playing, "**", ""), another, enjoy},
		},
	}
}

// When a model fails, the next one continues: what was written is taken back, what was done stays and is done once, and people are
// told. Neither the notice nor what was taken back comes into the next prompt.
func TestFailoverInChats(t *testing.T) {
	for name, f := range failures() {
		t.Run(name, subtest.With(onEachPlatform, withSpare, func(c *chatHarness) {
			c.serveMusic()
			c.model.Queue(f.scripts...)
			c.Say(connectortest.Ada, c.ada, "Tell me")
			c.waitShown(c.ada, f.shows[len(f.shows)-1])
			c.WaitIdle()
			seen := c.Messages(c.ada)
			text := strings.NewReplacer("_", "", "*", "").Replace(seen[len(seen)-1].Text)
			if len(seen) != 2 || text != strings.Join(f.shows, "\n\n") {
				c.Errorf("people see %d messages, at last:\n%s", len(seen)-1, text)
			}
			c.model.Queue(modelfake.Script{modelfake.Text("Sure.")})
			c.Say(connectortest.Ada, c.ada, "Really?")
			c.waitShown(c.ada, "Sure")
			all := c.model.Requests()
			checkPrompt(c.T, all[len(all)-1].Raw)
		}))
	}
}

// The page shows the same, live and after a reload, where the notice is gone.
func TestFailoverOnThePage(t *testing.T) {
	for name, f := range failures() {
		t.Run(name, subtest.With(withGateway, withSpare, func(s *harness) {
			s.serveMusic()
			s.model.Queue(f.scripts...)
			id := s.newConversation()
			st := s.send(id, "k1", "Tell me")
			done := s.readAll(st)
			live := strings.NewReplacer("_(", "(", ")_", ")", "*", "").Replace(st.Text())
			if want := strings.Join(f.shows, "\n\n"); live != want || *done.FullText != st.Text() {
				s.Errorf("the page shows:\n%s\nand at last:\n%s", live, *done.FullText)
			}
			lines := s.lines(id)
			want := strings.ReplaceAll(strings.Join(f.shows, "\n\n"), another+"\n\n", "")
			if got := strings.ReplaceAll(lines[1].Text, "*", ""); got != want {
				s.Errorf("a reload shows:\n%s", got)
			}
			s.model.Queue(modelfake.Script{modelfake.Text("Sure.")})
			s.readAll(s.send(id, "k2", "Really?"))
			all := s.model.Requests()
			checkPrompt(s.T, all[len(all)-1].Raw)
		}))
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

// setsReminder has the model set a reminder, an action that writes, and then fail before or in the middle of its next text.
func setsReminder(failing modelfake.Script) []modelfake.Script {
	return []modelfake.Script{{modelfake.Text(letMe), modelfake.ToolCall("c1", "REMIND_ME", `{"text":"call mum","in_minutes":60}`)}, failing, {modelfake.Text(enjoy)}}
}

// What an action has changed is not changed again by the next model, which is told about it.
func TestFailoverAfterAWritingAction(t *testing.T) {
	for name, failing := range map[string]modelfake.Script{
		"before the next text": {modelfake.BadGateway()},
		"in the next text":     {modelfake.Text(wrong), modelfake.Pause(5 * time.Second), modelfake.Cut()},
	} {
		t.Run(name, func(t *testing.T) {
			onEachPlatform(t, withSpare, func(c *chatHarness) {
				c.model.Queue(setsReminder(failing)...)
				c.Say(connectortest.Ada, c.ada, "Remind me to call mum in an hour")
				c.waitShown(c.ada, enjoy)
				c.WaitIdle()
				c.checkSpareKnows()
				c.Pass(2 * time.Hour)
				if got := c.reminders(c.ada); !slices.Equal(got, []string{"⏰ call mum"}) {
					c.Errorf("she is reminded of %q", got)
				}
			})
			withGateway(t, withSpare, func(s *harness) {
				s.model.Queue(setsReminder(failing)...)
				id := s.newConversation()
				s.readAll(s.send(id, "k1", "Remind me to call mum in an hour"))
				s.checkSpareKnows()
				time.Sleep(2 * time.Hour)
				lines := s.lines(id)
				var reminders []string
				for _, l := range lines {
					if strings.HasPrefix(l.Text, "⏰") {
						reminders = append(reminders, l.Text)
					}
				}
				if !slices.Equal(reminders, []string{"⏰ call mum"}) {
					s.Errorf("the page shows the reminders %q", reminders)
				}
			})
		})
	}
}

// checkSpareKnows fails unless the last of three requests has the call's result.
func (s *harness) checkSpareKnows() {
	s.Helper()
	all := s.model.Requests()
	if len(all) != 3 || !bytes.Contains(all[2].Raw, []byte("call mum")) || bytes.Count(all[2].Raw, []byte(`"role":"tool"`)) != 1 {
		s.Errorf("after %d requests, the second model is told:\n%s", len(all), all[len(all)-1].Raw)
	}
	checkPrompt(s.T, all[len(all)-1].Raw)
}
