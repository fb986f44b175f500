package stories_test

import (
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/internal/require"
)

// Without a key there is a model that shows everything, in every form that answers can have.
func TestDemoInEachForm(t *testing.T) {
	for name, set := range map[string]func(*config.Agent){
		"native":   func(*config.Agent) {},
		"xml":      func(a *config.Agent) { a.Generation = config.GenerateXML },
		"in steps": func(a *config.Agent) { a.Generation = config.GenerateSteps },
	} {
		t.Run(name, func(t *testing.T) {
			demo := func(c *config.Config) {
				c.Models.Large.Provider = config.ProviderDemo
				set(&c.Agent)
			}
			withGateway(t, demo, func(s *harness) {
				c := s.newConversation()
				says := func(text string, want ...string) {
					st := s.send(c, "k"+text[:3], text)
					frames := require.Value(st.All())(s)
					tokens := 0
					for _, f := range frames {
						if f.Type == "token" {
							tokens++
						}
						if strings.Contains(f.Raw, "<response") || strings.Contains(f.Raw, "I am a demo and don't think") {
							t.Errorf(`a frame shows %s; want it without "<response" and it without "I am a demo and don't think"`, f.Raw)
						}
					}
					got := *frames[len(frames)-1].FullText
					for _, w := range want {
						if !strings.Contains(got, w) {
							t.Errorf("%q is answered with %q, without %q", text, got, w)
						}
					}
					if tokens < 5 {
						t.Errorf("%q is answered in %d pieces; want at least 5", text, tokens)
					}
				}
				says("Hello\nthere", "I'm the **demo model**", "> Hello\n> there", "This is your first message")
				says("Roll a die", "🎲", "The action `ROLL_DICE` answered:\n\n> ")
				says("What time is it?", "The action `TELL_TIME` answered:\n\n> ")
				says("Good", "I can see 4 messages from you and 3 answers from me here")
				says("Play jazz", "Now playing: **jazz**", "rewritten in place")

				st := s.send(c, "choose", "Play me something")
				s.readUntil(st, "Which one?")
				time.Sleep(time.Second) // to read it
				s.readAll(s.send(c, "two", "2"))
				if got := *s.readAll(st).FullText; !strings.Contains(got, "Now playing: **So What**") || strings.Contains(got, "Which one?") {
					t.Errorf(`what was chosen is answered with %q; want it to contain "Now playing: **So What**" and it without "Which one?"`, got)
				}
			})
		})
	}
}
