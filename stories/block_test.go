package stories_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/backends"
	"parley/config"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/core/chat"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/sim"
)

// wantUnknown checks that Eve is not answered, whatever she does, and that nothing of her is stored.
func (c *chatHarness) wantUnknown(word string) {
	c.Helper()
	own := c.Direct(connectortest.Eve)
	before, requests := len(connectortest.BotTexts(c, c.group)), len(c.Requests())
	c.Say(connectortest.Eve, own, word+" in private")
	c.Say(connectortest.Eve, own, "/status")
	c.Mention(connectortest.Eve, c.group, word+" in the group")
	c.Say(connectortest.Eve, c.group, word+" aside")
	if all := c.Messages(c.group); len(all) > 0 {
		c.React(connectortest.Eve, c.group, all[0], "👍", true)
	}
	c.Pass(time.Minute)
	c.WaitIdle()
	if got := connectortest.BotTexts(c, own); len(got) > 0 {
		c.Errorf("a blocked user reads %q", got)
	}
	if got := connectortest.BotTexts(c, c.group)[before:]; len(got) > 0 {
		c.Errorf("a blocked user is answered %q in the group", got)
	}
	if got := c.Requests()[requests:]; len(got) > 0 {
		c.Errorf("a blocked user causes requests: %v", got)
	}
	for _, ending := range []string{"", "-wal"} {
		data, err := os.ReadFile(backends.Path(c.cfg.Store.Reveal()) + ending)
		if err != nil && ending == "" {
			c.Error(err)
		}
		if strings.Contains(string(data), word) {
			c.Errorf("a message of a blocked user is stored in the file %q", ending)
		}
	}
}

// Users of people.blocked are not answered or stored, on any path. Taken off the list, they are users again.
func TestBlockedInTheConfiguration(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.Mention(connectortest.Ada, c.group, "Good morning")
		c.WaitIdle()
		c.restartWith(func(cfg *config.Config) {
			cfg.People.Allowed = append(cfg.People.Allowed, config.Member(c.Account(connectortest.Eve)))
			cfg.People.Blocked = append(cfg.People.Blocked, config.Member(c.Account(connectortest.Eve)))
		})
		c.wantUnknown("Quince")
		c.restartWith(func(cfg *config.Config) { cfg.People.Blocked = nil })
		c.Say(connectortest.Eve, c.Direct(connectortest.Eve), "Am I back?")
		if said := c.lastReply(connectortest.Eve); !strings.Contains(said, "Am I back?") {
			t.Errorf("after the block Eve reads %q", said)
		}
	})
}

// Staff block a user by a reply, and unblock them by their account. It outlives the process, and is not for everyone: users who are no
// staff, oneself, owners, and staff for staff.
func TestBlockByReply(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		eve, bob, ada := c.Account(connectortest.Eve), c.Account(connectortest.Bob), c.Account(connectortest.Ada)
		c.restartWith(func(cfg *config.Config) {
			cfg.People = config.People{Owners: []config.Account{config.Account(ada)}, Staff: []config.Member{config.Member(bob)}, Allowed: []config.Member{config.Member(eve)}}
		})
		c.Mention(connectortest.Eve, c.group, "Spam for all")
		c.WaitIdle()
		refused := func(who connectortest.User, command, want string) {
			t.Helper()
			c.Say(who, c.Direct(who), command)
			if said := c.lastReply(who); !strings.Contains(said, want) {
				t.Errorf("%s of %s: %q; want %q", command, who, said, want)
			}
		}
		refused(connectortest.Eve, "/block "+bob, "Only my owner and their staff")
		refused(connectortest.Bob, "/block "+bob, "You can't block yourself")
		refused(connectortest.Bob, "/block "+ada, "Owners can't be blocked")
		refused(connectortest.Bob, "/block", "Reply to a message of the user")
		refused(connectortest.Bob, "/block Nobody Here", "Reply to a message of the user")
		spam := c.Messages(c.group)[0]
		c.Reply(connectortest.Bob, c.group, spam, c.Platform.(interface{ Mentioning(string) string }).Mentioning("/block"))
		c.Pass(time.Minute)
		c.WaitIdle()
		own := connectortest.BotTexts(c, c.group)
		if last := own[len(own)-1]; !strings.Contains(last, "is blocked") {
			t.Fatalf("after /block by reply: %q", own)
		}
		before := len(connectortest.BotTexts(c, c.Direct(connectortest.Eve)))
		c.restart()
		c.Pass(10 * time.Second)
		c.Say(connectortest.Eve, c.Direct(connectortest.Eve), "Quince in private")
		c.Mention(connectortest.Eve, c.group, "Quince in the group")
		c.Pass(time.Minute)
		c.WaitIdle()
		if got := connectortest.BotTexts(c, c.Direct(connectortest.Eve)); len(got) != before {
			t.Errorf("a blocked user reads %q", got[before:])
		}
		if log := c.Logged.String(); !strings.Contains(log, "a user was blocked") || strings.Contains(log[strings.Index(log, "a user was blocked"):], strings.Replace(eve, ":", "/", 1)) {
			t.Error("the log has no line about the block, or one with the account")
		}
		refused(connectortest.Bob, "/unblock "+eve, "is no longer blocked")
		c.Say(connectortest.Eve, c.Direct(connectortest.Eve), "Am I back?")
		if said := c.lastReply(connectortest.Eve); !strings.Contains(said, "Am I back?") {
			t.Errorf("after the block Eve reads %q", said)
		}
		refused(connectortest.Ada, "/block "+bob, "is blocked") // an owner can block staff
	})
}

// A reminder of a blocked user stays unsent in their direct chat; a slash command names a user by a mention, and those of a blocked user
// get no reply.
func TestBlockedBySlashCommand(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		bob := c.Direct(connectortest.Bob)
		c.reload(func(cfg *config.Config) {
			cfg.People.Owners = []config.Account{config.Account(c.Account(connectortest.Ada))}
		})
		c.setReminder(connectortest.Bob, bob, `{"text":"call mum","in_minutes":60}`)
		_, id, _ := strings.Cut(c.Account(connectortest.Bob), ":")
		w.Command(connectortest.Ada, c.group, "block", "which", "<@"+id+">")
		c.Pass(10 * time.Second)
		if got := w.Transcript(connectortest.Ada, c.group); !strings.Contains(got, "is blocked") {
			t.Errorf("Ada reads %q", got)
		}
		if got := w.Transcript(connectortest.Eve, c.group); strings.Contains(got, "is blocked") {
			t.Errorf("others read %q", got)
		}
		before, answers := len(connectortest.BotTexts(c, bob)), len(w.Fake.PressAnswers())
		w.Command(connectortest.Bob, c.group, "ask", "question", "Hi")
		w.Command(connectortest.Bob, bob, "status")
		c.Pass(2 * time.Hour)
		if got := connectortest.BotTexts(c, bob); len(got) != before {
			t.Errorf("a blocked user reads %q", got[before:])
		}
		if got := w.Fake.PressAnswers(); len(got) != answers {
			t.Errorf("slash commands of a blocked user were answered: %+v", got[answers:])
		}
	})
}

// A visitor of the page who is blocked is refused, and the model is not asked.
func TestBlockedVisitor(t *testing.T) {
	withGateway(t, func(cfg *config.Config) { cfg.People.Blocked = []config.Member{"web:visitor/none"} }, func(s *harness) {
		id := s.newConversation()
		s.readAll(s.send(id, "1", "Hello"))
		room := require.Value(s.Store.Room(s.Context(), s.rooms()[0]))(s)
		recent := require.Value(s.Store.Recent(s.Context(), room.ID, chat.Said, 0, 2))(s)
		s.reload(func(cfg *config.Config) {
			cfg.People.Blocked = append(cfg.People.Blocked, config.Member(strings.Replace(string(recent[0].Author), "/", ":", 1)))
		})
		st := require.Value(s.browser.Send(s.Context(), id, "2", "Quince"))(s)
		if st.Status != http.StatusForbidden {
			t.Errorf("a blocked visitor gets %d %s; want 403", st.Status, st.Body)
		}
		s.wantModelCalls(1)
	})
}

// A block ends the answers to the user that are being written, in a direct chat and in a group, and no one else's. The audit log of the
// operator's page has it, and the decisions of approvals in a chat.
func TestBlockStopsAnswersAndIsAudited(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		withShop(c, nil)
		c.restartWith(func(cfg *config.Config) {
			cfg.People.Allowed = []config.Member{config.Member(c.Account(connectortest.Eve)), config.Member(c.Account(connectortest.Bob))}
			cfg.Turns.Group = "queue"
		})
		press := c.pressIn(c.Platform.(buttonPlatform))
		c.queueCall("shop__order", `{"item":"tea"}`, "Tea is on its way.")
		c.Say(connectortest.Ada, c.ada, "Order tea")
		c.waitShown(c.ada, `{"item":"tea"}`)
		press(0)
		c.waitShown(c.ada, "Tea is on its way.")
		c.model.Queue(slowScript(tale), slowScript(tale), slowScript(tale))
		eve, bob := c.Direct(connectortest.Eve), c.Direct(connectortest.Bob)
		c.Say(connectortest.Eve, eve, "Tell me a tale")
		c.Mention(connectortest.Eve, c.group, "Tell us a tale")
		c.Say(connectortest.Bob, bob, "Tell me one too")
		c.Pass(5 * time.Second)
		c.Say(connectortest.Ada, c.ada, "/block "+c.Account(connectortest.Eve))
		c.Pass(time.Minute)
		c.WaitIdle()
		last := tale[len(tale)-20:]
		for room, whole := range map[connectortest.Room]bool{eve: false, c.group: false, bob: true} {
			if said := strings.Join(connectortest.BotTexts(c, room), "\n"); strings.Contains(said, last) != whole || said == "" {
				t.Errorf("the answer is whole: %v; want %v:\n%s", !whole, whole, said)
			}
		}
		c.Say(connectortest.Ada, c.ada, "/unblock "+c.Account(connectortest.Eve))
		c.WaitIdle()
		log := c.logIn(connectortest.Ada).get("/audit?format=csv")
		who := strings.Replace(c.Account(connectortest.Ada), ":", "/", 1) + ",a chat,"
		for _, want := range []string{who + "block,", who + "unblock,", who + "approved,"} {
			if strings.Count(log, want) != 1 {
				t.Errorf("the audit log lacks %q:\n%s", want, log)
			}
		}
	})
}

// The operator's page lists a visitor by a conversation. A block there includes the visitor who opened it, in all conversations, until it is
// ended. API keys stay, which bring many visitors.
func TestVisitorBlockedOnThePage(t *testing.T) {
	onPlatform(t, platforms()[0], nil, func(c *chatHarness) {
		c.restartWith(func(cfg *config.Config) {
			cfg.People.Owners = []config.Account{config.Account(c.Account(connectortest.Ada))}
		})
		o := c.logIn(connectortest.Ada)
		resp := require.Value(c.browser.HTTP.Post(c.browser.Base+"/api/visitors", "application/json", strings.NewReader("{}")))(c)
		var made struct{ Visitor struct{ Token string } }
		c.Must(json.NewDecoder(resp.Body).Decode(&made))
		c.Must(resp.Body.Close())
		visitor := &sim.Browser{HTTP: &http.Client{Transport: bearer{c.browser.HTTP.Transport, made.Visitor.Token}}, Base: c.browser.Base}
		var conversations []string
		for range 2 {
			id := require.Value(visitor.Open(c.Context()))(c)
			conversations = append(conversations, id)
		}
		ask := func(key string) (statuses []int) {
			for _, id := range conversations {
				c.model.Queue(modelfake.Script{modelfake.Text("Hi.")})
				st := require.Value(visitor.Send(c.Context(), id, key, "Hello"))(c)
				if st.Status == http.StatusOK {
					c.readAll(st)
				}
				statuses = append(statuses, st.Status)
			}
			return statuses
		}
		for n, step := range []struct {
			do   string
			want []int
		}{{"unblock", []int{200, 200}}, {"block", []int{403, 403}}, {"unblock", []int{200, 200}}} {
			o.post("/people", "do", step.do, "id", "web/"+conversations[0])
			if got := ask(fmt.Sprint("m", n)); !slices.Equal(got, step.want) {
				t.Errorf("after %s: %v; want %v", step.do, got, step.want)
			}
		}
	})
}
