package stories_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/sim"
)

// Reloads under load lose no delta of any stream: each answer has its whole text, from the model that it began with. Questions that
// come later obey the newest configuration.
func TestReloadUnderLoad(t *testing.T) {
	withGateway(t, func(cfg *config.Config) { cfg.Limits.Parallel = 0 }, func(s *harness) {
		const rooms, rounds = 6, 8
		long := strings.Repeat(fox+" ", 5)
		s.choose = func(r modelfake.Request) modelfake.Script {
			return modelfake.Script{modelfake.Pace(50 * time.Millisecond), modelfake.Text(r.Body.Model+": "+long, modelfake.ByWord)}
		}
		for round := range rounds {
			model := fmt.Sprint("model-", round)
			s.reload(func(cfg *config.Config) { cfg.Models.Large.Model, cfg.Agent.System = model, "Round "+model })
			var streams []*sim.Stream
			for range rooms {
				streams = append(streams, s.send(s.newConversation(), "m", "Hi"))
			}
			for i, st := range streams {
				s.readUntil(st, "fox")
				s.reload(func(cfg *config.Config) { cfg.Models.Large.Model, cfg.Agent.System = fmt.Sprint("other-", i), "Other" })
			}
			for _, st := range streams {
				if got := *s.readAll(st).FullText; got != model+": "+long || st.Text() != got {
					s.Errorf("round %d: the answer has %d bytes, the deltas %d", round, len(got), len(st.Text()))
				}
			}
		}
		for _, r := range s.model.Requests() {
			if want := "Round " + r.Body.Model; !strings.Contains(r.System(), want) {
				s.Errorf("%s was asked with %q", r.Body.Model, r.System())
			}
		}
	})
}

// What an owner changes most applies to the next message: character, templates, access, limits, models, hooks, the page. Keys that need a
// restart are named, and keep their values.
func TestReloadApplies(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		system := func(want string) {
			c.Helper()
			c.Say(connectortest.Ada, c.ada, "Hi")
			c.Pass(time.Minute)
			all := c.model.Requests()
			if got := all[len(all)-1]; !strings.Contains(got.System(), want) {
				c.Errorf("the system prompt is %q; want %q", got.System(), want)
			}
		}
		restart := c.reload(func(cfg *config.Config) {
			cfg.Agent.System, cfg.Agent.Templates.MessageHandler, cfg.Web.Listen, cfg.Log.Format = "You are Zoe.", "Be curt.", "127.0.0.1:1", "text"
		})
		if !slices.Equal(restart, []string{"web.listen", "log.format"}) {
			c.Errorf("a restart is needed by %q", restart)
		}
		system("You are Zoe.\n\nBe curt.")
		c.Must(c.node.SetTemplates(map[string]string{"messageHandler": "By the program."}))
		c.reload(func(cfg *config.Config) { cfg.Agent.System = "You are Yan." })
		system("You are Yan.\n\nBy the program.")

		eve := c.Direct(connectortest.Eve)
		c.reload(func(cfg *config.Config) { cfg.Access.Direct = config.DirectOpen })
		c.Say(connectortest.Eve, eve, "Let me in")
		c.Pass(time.Minute)
		if got := connectortest.BotTexts(c, eve); len(got) != 1 || got[0] != "You said: Let me in" {
			c.Errorf("Eve reads %q", got)
		}
		c.reload(func(cfg *config.Config) { cfg.Access.Direct = "off" })
		c.Say(connectortest.Eve, eve, "And now?")
		c.Pass(time.Minute)
		if got := connectortest.BotTexts(c, eve); len(got) != 1 {
			c.Errorf("Eve reads %q", got)
		}
		c.reload(func(cfg *config.Config) { cfg.Access.Direct, cfg.Limits.Person = config.DirectOpen, quotaOf(1, 0) }) // she has had more already
		c.Say(connectortest.Ada, c.ada, "More")
		c.Pass(time.Minute)
		if said := c.lastReply(connectortest.Ada); !strings.HasPrefix(said, "You've reached your daily limit") {
			c.Errorf("she reads %q", said)
		}
		c.reload(func(cfg *config.Config) {
			cfg.Limits.Person = config.Quota{}
			cfg.Hooks = []config.Hook{{Name: "build", Secret: hookSecret, PerMinute: 5, Text: "It is {{what}}.", Room: config.Place(c.Account(connectortest.Ada))}}
		})
		c.secrets = append(c.secrets, hookSecret)
		if code, _ := c.callHook("build", `{"what":"red"}`); code != http.StatusAccepted {
			c.Errorf("a new hook replies %d", code)
		}
		if said := c.lastReply(connectortest.Ada); said != "It is red." {
			c.Errorf("she reads %q", said)
		}
		c.reload(func(cfg *config.Config) { cfg.Hooks, cfg.Agent.Name = nil, "Zed" })
		if code, _ := c.callHook("build", `{"what":"red"}`); code == http.StatusAccepted {
			c.Error("a removed hook is accepted")
		}
		if page := c.page("/"); !strings.Contains(page, "Zed") {
			c.Errorf("the page is %s", page)
		}
	})
}

// page returns a page of the web chat.
func (s *harness) page(path string) string {
	s.Helper()
	resp := require.Value(s.browser.HTTP.Get(s.browser.Base + path))(s)
	defer resp.Body.Close()
	body := require.Value(io.ReadAll(resp.Body))(s)
	return string(body)
}

// An invalid configuration changes nothing, whichever section is wrong; the log, /readyz and the owner say so, the owner once. A valid one ends that.
func TestReloadOfAnInvalidConfiguration(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.shutdown()
		c.cfg.People.Owners = []config.Account{config.Account(c.Account(connectortest.Ada))}
		c.start()
		c.Pass(10 * time.Second)
		c.Say(connectortest.Ada, c.ada, "Hi") // the owner has a direct chat
		c.Pass(time.Minute)
		good := c.cfg
		own := len(connectortest.BotTexts(c, c.ada))
		for what, edit := range map[string]func(*config.Config){
			"config.yaml:3:1: agent: this is wrong": func(*config.Config) { c.badConfig = errors.New("config.yaml:3:1: agent: this is wrong\nmore") },
			"messageHandler":                        func(cfg *config.Config) { cfg.Agent.Templates.MessageHandler = "{{unknown}}" },
			"price":                                 func(cfg *config.Config) { cfg.Limits.Total.USD = 1 << 40 },
			"no such":                               func(cfg *config.Config) { cfg.Plugins.Player.Folder = "/no/such/folder" },
		} {
			c.cfg.Agent.System = "You are someone else."
			edit(&c.cfg)
			for range 2 {
				if _, err := c.node.Reload(c.Context()); err == nil || !strings.Contains(err.Error(), what) {
					c.Errorf("%s: the error is %v", what, err)
				}
			}
			if got := c.page("/readyz"); !strings.Contains(got, "ready, with limits") || !strings.Contains(got, "the changed configuration is invalid") || strings.Contains(got, what) {
				c.Errorf("%s: /readyz says %q", what, got)
			}
			c.Pass(time.Minute)
			texts := connectortest.BotTexts(c, c.ada)
			if len(texts) != own+1 || !strings.Contains(texts[own], what) || strings.Contains(texts[own], "\nmore") {
				c.Errorf("%s: the owner reads %q", what, texts[min(own, len(texts)):])
			}
			c.Say(connectortest.Ada, c.ada, "Who are you?")
			c.Pass(time.Minute)
			if all := c.model.Requests(); strings.Contains(all[len(all)-1].System(), "someone else") {
				c.Errorf("%s: a part of it applies", what)
			}
			own = len(connectortest.BotTexts(c, c.ada))
			c.badConfig = nil
			c.reload(func(cfg *config.Config) { *cfg = good })
			if got := c.page("/readyz"); got != "ready\n" {
				c.Errorf("%s: then /readyz says %q", what, got)
			}
		}
	})
}

// A reload in the middle of the stop of a gateway does no harm.
func TestReloadWhileStopping(t *testing.T) {
	withGateway(t, nil, func(s *harness) {
		s.model.Queue(modelfake.Script{modelfake.Text("One "), modelfake.Pause(5 * time.Second), modelfake.Text("two.")})
		st := s.send(s.newConversation(), "m", "Hi")
		s.readUntil(st, "One")
		s.node.Interrupt()
		synctest.Wait()
		s.reload(func(cfg *config.Config) { cfg.Initiative.Reminders = false })
		if got := *s.readAll(st).FullText; got != "One two." {
			s.Errorf("the answer is %q", got)
		}
		s.Must(s.node.Stop())
		s.start()
	})
}

// Each answer has one line in the log, without its text: outcome, times, model, tokens, tools, and the room as a hash.
func TestLineOfAnAnswer(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.model.Queue(modelfake.Script{modelfake.Text("A secret answer.")})
		c.Say(connectortest.Ada, c.ada, "A secret question")
		c.Pass(time.Minute)
		c.Say(connectortest.Ada, c.ada, "/status")
		c.Pass(time.Minute)
		line := regexp.MustCompile(`level=INFO msg=answer run=(\w+/~[0-9a-f]{12}#\d+) room_hash=(~[0-9a-f]{12}) kind=\S* outcome=completed waited=\S+ took=\S+ model=openai/fake-model calls=1 input=[1-9]\d* output=[1-9]\d* edits=\d+\n`)
		if all := line.FindAllString(c.Logged.String(), -1); len(all) != 1 || strings.Count(c.Logged.String(), "msg=answer ") != 2 {
			c.Errorf("the lines are %q\n%s", all, c.Logged.String())
		}
		if ids := regexp.MustCompile(`\b(?:run|room|chat|channel)="?[^~\s]*\d\S*`).FindAllString(c.Logged.String(), -1); len(ids) != 0 {
			c.Errorf("the log has the ids %q", ids)
		}
		for _, text := range []string{"secret answer", "secret question"} {
			if strings.Contains(c.Logged.String(), text) {
				c.Errorf("the log has the text %q", text)
			}
		}
	})
}
