package stories_test

import (
	"bytes"
	"html"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/internal/require"
)

// operator is an owner at the operator's page.
type operator struct {
	*chatHarness
	http *http.Client
}

// logIn logs a user in with the code that the bot gives them.
func (c *chatHarness) logIn(who connectortest.User) *operator {
	c.Helper()
	own := c.Direct(who)
	c.Say(who, own, "/admin")
	c.waitShown(own, "enter this code")
	said := strings.Join(connectortest.BotTexts(c, own), "\n")
	code := regexp.MustCompile(`[A-Z2-7]{4}-[A-Z2-7]{4}-[A-Z2-7]{4}`).FindString(said)
	jar := require.Value(cookiejar.New(nil))(c)
	o := &operator{c, &http.Client{Transport: c.browser.HTTP.Transport, Jar: jar}}
	if page := o.post("/login", "code", code); !strings.Contains(page, "Log out") {
		c.Fatalf("with the code %q of %q the page is %s", code, said, page)
	}
	return o
}

func (o *operator) read(resp *http.Response, err error) string {
	o.Helper()
	o.Must(err)
	defer resp.Body.Close()
	body := require.Value(io.ReadAll(resp.Body))(o)
	return string(body)
}

func (o *operator) get(path string) string {
	o.Helper()
	return o.read(o.http.Get(o.browser.Base + "/admin" + path))
}

func (o *operator) post(path string, form ...string) string {
	o.Helper()
	values := url.Values{}
	for i := 0; i < len(form); i += 2 {
		values.Set(form[i], form[i+1])
	}
	return o.read(o.http.PostForm(o.browser.Base+"/admin"+path, values))
}

// postFile is post with a file.
func (o *operator) postFile(path, name, content string, form ...string) string {
	o.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for i := 0; i < len(form); i += 2 {
		o.Must(w.WriteField(form[i], form[i+1]))
	}
	part := require.Value(w.CreateFormFile("file", name))(o)
	require.Value(io.WriteString(part, content))(o)
	o.Must(w.Close())
	return o.read(o.http.Post(o.browser.Base+"/admin"+path, w.FormDataContentType(), &body))
}

// id returns the id in the form of the page's first button.
func (o *operator) id(page string) string {
	o.Helper()
	found := regexp.MustCompile(`name="id" value="([^"]*)"`).FindStringSubmatch(page)
	if found == nil {
		o.Fatalf("the page has no button: %s", page)
	}
	return strings.NewReplacer("&#43;", "+", "&#39;", "'", "&amp;", "&").Replace(found[1])
}

// request returns the id of the first request of the list, and the address of the conversation whose user waits.
func (o *operator) request() (id, talk string) {
	o.Helper()
	page := o.get("/requests")
	found := regexp.MustCompile(`href="/admin(/talk[^"]*)"`).FindStringSubmatch(page)
	if found == nil {
		o.Fatalf("the page has no request: %s", page)
	}
	return o.id(page), html.UnescapeString(found[1])
}

// orderEach has Ada, who owns the gateway and is logged in, order tea, and Bob order gold. decide is called while each call waits.
func (c *chatHarness) orderEach(decide func(o *operator, in connectortest.Room, item string)) (*operator, *toolServer) {
	c.Helper()
	s := withShop(c, func(cfg *config.Config) {
		cfg.People.Allowed = append(cfg.People.Allowed, config.Member(c.Account(connectortest.Bob)))
	})
	o := c.logIn(connectortest.Ada)
	for _, who := range []struct {
		user connectortest.User
		chat connectortest.Room
		item string
	}{{connectortest.Ada, c.ada, "tea"}, {connectortest.Bob, c.Direct(connectortest.Bob), "gold"}} {
		c.queueCall("shop__order", `{"item":"`+who.item+`"}`, "Here is the "+who.item)
		c.Say(who.user, who.chat, "Order "+who.item)
		c.waitShown(c.ada, `{"item":"`+who.item+`"}`)
		decide(o, who.chat, who.item)
	}
	return o, s
}

// The bot gives the owner a code. A call is approved on the page instead of in the chat: it is made once, the buttons in the chat go, and a
// second decision changes nothing.
func TestChatApprovalOnTheOperatorsPage(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		w := c.Platform.(buttonPlatform)
		o, s := c.orderEach(func(o *operator, in connectortest.Room, item string) {
			c.Pass(time.Minute)
			page := o.get("/requests")
			if !strings.Contains(page, "shop/order (write)") || !strings.Contains(page, item) {
				t.Errorf("the page lacks the request: %s", page)
			}
			id := o.id(page)
			if said := o.post("/requests", "do", "allow", "id", id); !strings.Contains(said, "Approved.") {
				t.Errorf("the operator reads %s", said)
			}
			c.Pass(time.Minute)
			c.waitShown(in, "Here is the "+item)
			if got := w.Buttons(c.ada); len(got) > 0 {
				t.Errorf("the owner has the buttons %q", got)
			}
			if said := o.post("/requests", "do", "deny", "id", id); !strings.Contains(said, "This request has closed.") {
				t.Errorf("a second decision: %s", said)
			}
		})
		c.wantDone(s, `order {"item":"tea"}`, `order {"item":"gold"}`)
		if log := o.get("/audit?format=csv"); strings.Count(log, ",allow,") != 2 || !strings.Contains(log, "log in") {
			t.Errorf("the audit log is %s", log)
		}
		run := o.get("/runs")
		if !strings.Contains(run, "Order tea") {
			t.Errorf("the answers are %s", run)
		}
		bob := c.Direct(connectortest.Bob)
		c.Say(connectortest.Bob, bob, "/admin")
		c.waitShown(bob, "Only owners and staff")
		if texts := connectortest.BotTexts(c, bob); slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "code") }) {
			t.Errorf("Bob gets a code: %q", texts)
		}
	})
}

// On the page, too, the arguments of a call can be changed, of a question in the answer as of a card, also after a crash. Arguments that do not fit are
// refused with the reason, and decide nothing. The call, the model, the audit log and the card have those that were approved; a later press changes nothing.
func TestChatArgumentsOnTheOperatorsPage(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		w := c.Platform.(buttonPlatform)
		_, s := c.orderEach(func(o *operator, in connectortest.Room, item string) {
			c.restart()
			c.Pass(time.Minute)
			page := o.get("/requests")
			if !strings.Contains(page, "{&#34;item&#34;:&#34;"+item+"&#34;}</textarea>") {
				t.Fatalf("the page lacks the arguments: %s", page)
			}
			id := o.id(page)
			for wrong, why := range map[string]string{`{"item":`: "Write the arguments as JSON", `{"item":7}`: "These arguments don&#39;t fit", "": "Write a text first."} {
				if said := o.post("/requests", "do", "change", "id", id, "text", wrong); !strings.Contains(said, why) || !strings.Contains(said, "<details open>") {
					t.Errorf("with %s the operator reads %s; want %q", wrong, said, why)
				}
			}
			c.Pass(time.Minute)
			if got := w.Buttons(c.ada); len(got) == 0 {
				t.Error("arguments that do not fit have decided the call")
			}
			if said := o.post("/requests", "do", "change", "id", id, "text", `{"item": "silver `+item+`"}`); !strings.Contains(said, "Approved.") {
				t.Errorf("the operator reads %s", said)
			}
			c.Pass(time.Minute)
			c.waitShown(in, "Here is the "+item)
			if got := w.Buttons(c.ada); len(got) > 0 {
				t.Errorf("the owner has the buttons %q", got)
			}
			if last := c.modelRequest(len(c.model.Requests()) - 1); !strings.Contains(last, "A person changed the parameters") {
				t.Errorf("the model reads %s", last)
			}
			if said := o.post("/requests", "do", "change", "id", id, "text", `{"item":"lead"}`); !strings.Contains(said, "This request has closed.") {
				t.Errorf("a second decision: %s", said)
			}
			if log := o.get("/audit"); !strings.Contains(log, "{&#34;item&#34;:&#34;"+item+"&#34;} → {&#34;item&#34;: &#34;silver "+item+"&#34;}") {
				t.Errorf("the audit log is %s", log)
			}
		})
		c.wantDone(s, `order {"item":"silver tea"}`, `order {"item":"silver gold"}`)
		if said := strings.Join(connectortest.BotTexts(c, c.ada), "\n"); !strings.Contains(said, "changed the arguments and approved this:") || !strings.Contains(said, "silver gold") {
			t.Errorf("the card is %s", said)
		}
	})
}

// A role of the staff on Discord counts in the direct chat and on the operator's page, once its owner has written in the server, and no
// longer after they have written there without it.
func TestStaffByRoleOnTheOperatorsPage(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		role, bob, own := w.Fake.AddRole(w.Guild(), "helper"), w.User(connectortest.Bob), c.Direct(connectortest.Bob)
		c.restartWith(func(cfg *config.Config) {
			cfg.People.Staff = append(cfg.People.Staff, config.Member("discord:role:"+role))
		})
		w.Fake.SetRoles(bob, role)
		refused := func(when string) {
			t.Helper()
			before := len(connectortest.BotTexts(c, own))
			c.Say(connectortest.Bob, own, "/admin")
			c.WaitIdle()
			if said := strings.Join(connectortest.BotTexts(c, own)[before:], "\n"); strings.Contains(said, "code") || !strings.Contains(said, "Only owners and staff") {
				t.Errorf("%s, Bob reads %q", when, said)
			}
		}
		refused("before the role was seen")
		c.Mention(connectortest.Bob, c.group, "Good morning")
		c.WaitIdle()
		o := c.logIn(connectortest.Bob)
		if page := o.get("/people"); !strings.Contains(page, ">staff</span>") {
			t.Errorf("the page of the people is %s", page)
		}
		eve := c.Account(connectortest.Eve)
		c.Say(connectortest.Bob, own, "/block "+eve)
		c.waitShown(own, "is blocked")
		w.Fake.SetRoles(bob)
		c.Mention(connectortest.Bob, c.group, "Good evening")
		c.WaitIdle()
		refused("without the role")
		if page := o.get("/people"); !strings.Contains(page, "Log in") {
			t.Errorf("without the role, the page is %s", page)
		}
	})
}

// A thumb down below an answer is on the page for review, until it is taken back; a thumb below a question is not.
func TestThumbsAreReviewed(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		ownedByAda(c)
		ada := c.logIn(connectortest.Ada)
		c.Say(connectortest.Ada, c.ada, "Is the sea deep?")
		c.WaitIdle()
		all := c.Messages(c.ada)
		question, answer := all[len(all)-2], all[len(all)-1]
		for _, step := range []struct {
			on    connectortest.Message
			emoji string
			added bool
			shown bool
		}{{question, "👎", true, false}, {answer, "👍", true, false}, {answer, "👎", true, true}, {answer, "👍", false, true}, {answer, "👎", false, false}} {
			c.React(connectortest.Ada, c.ada, step.on, step.emoji, step.added)
			c.Pass(10 * time.Second)
			if page := ada.get("/review"); strings.Contains(page, "You said: Is the sea deep?") != step.shown {
				t.Errorf("after %+v the page is %s", step, page)
			}
		}
	})
}
