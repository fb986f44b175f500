package stories_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/core/answer"
	"parley/core/quota"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/sim"
)

// through is a visitor whose requests say that they come from elsewhere.
type through struct {
	*http.Transport
	n int
}

func (t *through) RoundTrip(r *http.Request) (*http.Response, error) {
	t.n++
	r = r.Clone(r.Context())
	r.Header.Set("X-Forwarded-For", fmt.Sprintf("203.0.113.%d", t.n))
	return t.Transport.RoundTrip(r)
}

func quotaOf(messages, tokens int) config.Quota {
	return config.Quota{Messages: &messages, Tokens: &tokens}
}

// SE-10: a visitor who begins one conversation after the other, and says each time to come from elsewhere, is one visitor.
// Over the limit they are told so once, clients read the reason each time, and the model is not asked. Behind a trusted proxy those are many visitors.
func TestRotatingGuests(t *testing.T) {
	for name, trusted := range map[string]bool{"no trusted proxy": false, "the proxy is": true} {
		t.Run(name, func(t *testing.T) {
			withGateway(t, func(cfg *config.Config) {
				cfg.Limits.Person = quotaOf(2, 0)
				if trusted {
					cfg.Web.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
				}
			}, func(s *harness) {
				s.browser.HTTP.Transport = &through{Transport: s.browser.HTTP.Transport.(*http.Transport)}
				var read, why []string
				for range 5 {
					text := ""
					done := s.readAll(s.send(s.newConversation(), "m", "Hi"))
					if done.FullText != nil {
						text = *done.FullText
					}
					read, why = append(read, text), append(why, done.Reason)
				}
				want := []string{"You said: Hi", "You said: Hi", "You've reached your daily limit", "", ""}
				if trusted {
					want = []string{"You said: Hi", "You said: Hi", "You said: Hi", "You said: Hi", "You said: Hi"}
				}
				answered := 0
				for i := range read {
					if !strings.HasPrefix(read[i], want[i]) || want[i] == "" && read[i] != "" {
						t.Errorf("visit %d reads %q; want %q", i, read[i], want[i])
					}
					if over := !strings.HasPrefix(want[i], "You said"); over != strings.HasPrefix(why[i], "You've reached your daily limit. It resets in ") {
						t.Errorf("visit %d is told the reason %q", i, why[i])
					}
					if strings.HasPrefix(want[i], "You said") {
						answered++
					}
				}
				if asked := len(s.model.Requests()); asked != answered {
					t.Errorf("the model was asked %d times; want %d", asked, answered)
				}
			})
		})
	}
}

// SE-10: what a day may cost is reached. Everybody is told so politely, and the provider hears nothing more.
func TestDayIsSpent(t *testing.T) {
	withGateway(t, func(cfg *config.Config) { cfg.Limits.Total = quotaOf(0, 10_000) }, func(s *harness) {
		s.model.Queue(modelfake.Script{modelfake.Text("Much."), modelfake.ReportUsage(5000, 4900)})
		s.readAll(s.send(s.newConversation(), "m", "Hi"))
		done := s.readAll(s.send(s.newConversation(), "m", "Hi"))
		if done.FullText == nil || !strings.HasPrefix(*done.FullText, "I've reached my daily limit. It resets in ") {
			t.Errorf("the second reads %v", done.FullText)
		}
		s.wantModelCalls(1)
	})
}

// LM-12: answers are broken off by a stop, a crash or the provider, at any moment. What is counted is never less than
// what the provider bills, and just that where nothing went wrong.
func TestLedgerAndBill(t *testing.T) {
	words := modelfake.Text(strings.Repeat("word ", 60), modelfake.ByWord)
	script := func(more ...modelfake.Step) modelfake.Script {
		return append(modelfake.Script{modelfake.Pace(100 * time.Millisecond)}, more...)
	}
	for name, c := range map[string]struct {
		scripts []modelfake.Script
		end     func(*harness, string)
		exact   bool
	}{
		"a whole answer":     {[]modelfake.Script{script(words)}, nil, true},
		"an action between":  {[]modelfake.Script{script(modelfake.Text("I look. "), modelfake.ToolCall("1", "CURRENT_TIME", "{}")), script(words)}, nil, true},
		"stopped at once":    {[]modelfake.Script{script(words)}, func(s *harness, c string) { s.Must(s.browser.Stop(s.Context(), c)) }, false},
		"stopped in between": {[]modelfake.Script{script(words)}, func(s *harness, c string) { time.Sleep(3 * time.Second); s.Must(s.browser.Stop(s.Context(), c)) }, false},
		"crash at once":      {[]modelfake.Script{script(words)}, func(s *harness, _ string) { s.crash(); s.start() }, false},
		"crash in between":   {[]modelfake.Script{script(words)}, func(s *harness, _ string) { time.Sleep(3 * time.Second); s.crash(); s.start() }, false},
		"crash in step two": {[]modelfake.Script{script(modelfake.Text("I look. "), modelfake.ToolCall("1", "CURRENT_TIME", "{}")), script(words)},
			func(s *harness, _ string) { time.Sleep(3 * time.Second); s.crash(); s.start() }, false},
		"no answer":  {[]modelfake.Script{{modelfake.Status(500, "no")}, {modelfake.Status(500, "no")}, {modelfake.Status(500, "no")}}, nil, false},
		"broken off": {[]modelfake.Script{script(modelfake.After(20, modelfake.Cut()), words)}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			withGateway(t, func(cfg *config.Config) { cfg.Limits.Total = quotaOf(0, 100_000) }, func(s *harness) {
				s.model.Queue(c.scripts...)
				conversation := s.newConversation()
				st := s.send(conversation, "m", "Hi")
				if c.end != nil {
					c.end(s, conversation)
				}
				st.Close()
				time.Sleep(5 * time.Minute)
				bill := 0
				for _, r := range s.model.Requests() {
					bill += r.Usage.Prompt + r.Usage.Completion
				}
				spent := require.Value(s.Store.Spent(s.Context(), time.Now().UTC().Format(time.DateOnly), "total"))(s)
				if spent.Tokens < bill || c.exact && spent.Tokens != bill || bill == 0 && c.exact {
					t.Errorf("%d tokens are counted, the bill says %d", spent.Tokens, bill)
				}
			})
		})
	}
}

// SE-16: a button that is answered like a message counts for the address that pressed it, as messages from there do.
func TestButtonsCountForTheirAddress(t *testing.T) {
	withGateway(t, func(cfg *config.Config) { cfg.Limits.Person = quotaOf(3, 0) }, func(s *harness) {
		for range 12 {
			s.model.Queue(modelfake.Script{modelfake.ToolCall("c", "CHOOSE_OPTION", `{"question":"Which?","options":["red","blue"]}`)})
		}
		offers := map[string]answer.Choices{}
		for range 3 {
			conversation := s.newConversation()
			offers[conversation] = s.lastChoices(s.send(conversation, "m", "Hi"))
		}
		refused := 0
		for conversation, offer := range offers {
			for range 3 {
				st := require.Value(s.browser.Choose(s.Context(), conversation, offer, 1))(s)
				if next := s.lastChoices(st); next.ID != "" {
					offer = next
					continue
				}
				refused++
				break // nothing is left to press
			}
		}
		if asked := len(s.model.Requests()); asked != 3 || refused != 3 {
			t.Errorf("the model was asked %d times, and %d presses were refused; want 3 and 3", asked, refused)
		}
		day := time.Now().UTC().Format(time.DateOnly)
		for conversation := range offers {
			own := require.Value(s.Store.Spent(s.Context(), day, "person/web/"+conversation))(s)
			if own != (quota.Cost{}) {
				t.Errorf("%+v is counted per conversation, although anyone can start a new one", own)
			}
		}
	})
}

// lastChoices reads an answer to its end, and returns the last thing that it offers to choose from.
func (s *harness) lastChoices(st *sim.Stream) (offer answer.Choices) {
	s.Helper()
	frames := require.Value(st.All())(s)
	for _, e := range frames {
		var f struct {
			Choices *answer.Choices `json:"choices"`
		}
		if json.Unmarshal([]byte(e.Raw), &f) == nil && f.Choices != nil {
			offer = *f.Choices
		}
	}
	return offer
}
