package stories_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/connectortest/telegramworld"
	"parley/connectors/discord/discordfake"
	"parley/connectors/telegram/telegramfake"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/sim"
)

// withDesk is a gateway that Ada owns and Bob may write to; Ada has written to it before.
func withDesk(t *testing.T, play func(c *chatHarness, restart func())) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.startDesk()
		play(c, func() {
			c.Helper()
			c.WaitIdle()
			c.restart()
			c.Pass(10 * time.Second)
		})
	})
}

// startDesk starts the gateway again with Ada as its owner, who writes to it.
func (c *chatHarness) startDesk() {
	c.Helper()
	ownedByAda(c)
	c.Say(connectortest.Ada, c.ada, "Hello")
	c.Pass(10 * time.Second)
}

// joinTalk asks for a person as Bob, and takes over as Ada.
func (c *chatHarness) joinTalk() (bob connectortest.Room) {
	c.Helper()
	bob = c.Direct(connectortest.Bob)
	c.Say(connectortest.Bob, bob, "/person")
	c.Pass(10 * time.Second)
	c.Platform.(buttonPlatform).Press(connectortest.Ada, c.ada, 0)
	c.waitShown(bob, "is here now")
	return bob
}

// deleteConversation deletes a conversation of the page, as its visitor.
func (c *chatHarness) deleteConversation(id string) {
	c.Helper()
	c.forgetConversation(id)
	c.allowDeletion()
}

// askForPerson asks for a person on the page, and returns the conversation once Ada has the card.
func (c *chatHarness) askForPerson() (id string) {
	c.Helper()
	id = c.newConversation()
	c.readAll(c.send(id, "1", "/person about tea"))
	c.waitShown(c.ada, "about tea")
	return id
}

// talkToVisitor is askForPerson, after which Ada takes over.
func (c *chatHarness) talkToVisitor() (id string) {
	c.Helper()
	id = c.askForPerson()
	c.Platform.(buttonPlatform).Press(connectortest.Ada, c.ada, 0)
	c.waitShown(c.ada, "You're talking to")
	return id
}

// since returns the texts of the bot in a room, without the first n.
func (c *chatHarness) since(in connectortest.Room, n int) []string {
	c.WaitIdle()
	return connectortest.BotTexts(c, in)[n:]
}

// A visitor of the page asks for a person, the owner takes over in a direct chat and hands back. The process dies in each state. Both sides read
// the same lines, each once, in their order, and the agent is silent meanwhile; afterwards it has read them.
func TestPersonTakesOver(t *testing.T) {
	withDesk(t, func(c *chatHarness, restart func()) {
		w := c.Platform.(buttonPlatform)
		id := c.newConversation()
		n, reason := 0, ""
		read := func(text string) (answer string) {
			st := require.Value(c.browser.Send(c.Context(), id, fmt.Sprint(n), text))(c)
			if st.Status != http.StatusOK {
				c.Fatalf("%q is refused: %d %s", text, st.Status, st.Body)
			}
			last := c.readAll(st)
			if reason = last.NoResponse; last.FullText != nil {
				return *last.FullText
			}
			return ""
		}
		say := func(text string) (answer string) {
			n++
			return read(text)
		}
		say("My order has not come.")
		if got := say("/person about order 7"); !strings.Contains(got, "I've asked for a person") {
			c.Errorf("/person answers %q", got)
		}
		c.waitShown(c.ada, "about order 7")
		before := len(c.since(c.ada, 0))
		if card := c.since(c.ada, 0)[before-1]; !strings.Contains(card, "My order has not come.") || !strings.Contains(card, "asks for a person on the web page.") {
			c.Errorf("the card is %q", card)
		}
		restart()
		w.Press(connectortest.Ada, c.ada, 0)
		c.waitShown(c.ada, "You're talking to")
		restart()
		asked := len(c.model.Requests())
		for i := range 3 {
			n++
			for range 2 { // the page sends it again after a reload
				if got := read(fmt.Sprint("Question ", i)); got != "" || reason != "relayed" {
					c.Errorf("the agent answers %q, with the reason %q; want none, because the person has the message", got, reason)
				}
			}
			c.waitShown(c.ada, fmt.Sprint("Question ", i))
			c.Say(connectortest.Ada, c.ada, fmt.Sprint("Reply ", i))
			c.Pass(5 * time.Second)
			c.Say(connectortest.Ada, c.ada, fmt.Sprint("// note ", i))
			c.Pass(5 * time.Second)
			restart()
		}
		if got := len(c.model.Requests()); got != asked {
			c.Errorf("the model was asked %d times meanwhile", got-asked)
		}
		w.Press(connectortest.Ada, c.ada, 0)
		c.Pass(10 * time.Second)
		if got := strings.Join(c.since(c.ada, before), "\n"); !strings.Contains(got, "handed the conversation with A visitor") {
			c.Errorf("the owner reads %q", got)
		}
		restart()
		if got := say("Thanks!"); got == "" {
			c.Error("the agent does not answer again")
		}
		requests := c.model.Requests()
		for i := range 3 {
			if got := string(requests[len(requests)-1].Raw); !strings.Contains(got, fmt.Sprint("Reply ", i)) || !strings.Contains(got, fmt.Sprint("Question ", i)) || strings.Contains(got, "note") {
				c.Errorf("the agent reads %s", got)
			}
		}
		c.wantTalk(id, []string{"Question 0", "Reply 0", "Question 1", "Reply 1", "Question 2", "Reply 2"})
	})
}

// The model asks for a person by a call: the answer says so, the person reads the reason, and a repeated call changes nothing.
func TestModelAsksForPerson(t *testing.T) {
	withDesk(t, func(c *chatHarness, restart func()) {
		id := c.newConversation()
		for i := range 2 {
			c.model.Queue(modelfake.Script{modelfake.ToolCall("c", "ASK_PERSON", `{"reason":"order 7 is lost"}`)})
			if got := *c.readAll(c.send(id, fmt.Sprint(i), "Let me talk to someone.")).FullText; !strings.Contains(got, "I've asked for a person") {
				c.Errorf("the answer is %q", got)
			}
			restart()
		}
		cards := 0
		for _, m := range c.since(c.ada, 0) {
			if strings.Contains(m, "order 7 is lost") {
				cards++
			}
		}
		if cards != 1 {
			c.Errorf("the owner has %d cards; want 1", cards)
		}
		c.Platform.(buttonPlatform).Press(connectortest.Ada, c.ada, 0)
		c.waitShown(c.ada, "You're talking to")
	})
}

// wantTalk wants both sides of a talk between a visitor of the page and Ada to have read these lines, each once and in this order.
func (c *chatHarness) wantTalk(id string, want []string) {
	c.Helper()
	clean := func(lines []string) (talk []string) {
		for _, l := range lines {
			if i := slices.IndexFunc(want, func(w string) bool { return strings.HasSuffix(strings.TrimSpace(l), w) }); i >= 0 {
				talk = append(talk, want[i])
			}
		}
		return talk
	}
	lines := c.lines(id)
	var page, desk []string
	for _, l := range lines {
		if l.Role == "assistant" && !strings.Contains(l.Text, "Ada") {
			continue // an answer of the agent, which can repeat what it has read
		}
		page = append(page, l.Text)
	}
	shown := c.Messages(c.ada)
	for _, m := range shown {
		desk = append(desk, m.Text)
	}
	if got := clean(page); !slices.Equal(got, want) {
		c.Errorf("the visitor reads %q; want %q", got, want)
	}
	if got := clean(desk); !slices.Equal(got, want) {
		c.Errorf("the owner reads %q; want %q", got, want)
	}
}

// The first person wins, and the card of the other says so. A person who is silent is reminded, edits go both ways, a person talks to one user at a
// time, and one who is blocked is replaced. A deleted conversation ends the talk.
func TestPersonThroughFaults(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		w := c.Platform.(buttonPlatform)
		bob := c.Direct(connectortest.Bob)
		c.cfg.People.Staff = []config.Member{config.Member(c.Account(connectortest.Bob))}
		c.startDesk()
		c.Say(connectortest.Bob, bob, "Hello")
		c.Pass(10 * time.Second)
		first, second := c.newConversation(), c.newConversation()
		c.readAll(c.send(first, "1", "/person"))
		c.Pass(10 * time.Second)
		w.Press(connectortest.Bob, bob, 0)
		c.Pass(10 * time.Second)
		if got := c.since(c.ada, 0); !strings.Contains(got[len(got)-1], "Bob has taken over.") || len(w.Buttons(c.ada)) != 0 {
			t.Errorf("the other reads %q, with the buttons %q", got, w.Buttons(c.ada))
		}
		c.readAll(c.send(second, "1", "/person"))
		c.Pass(10 * time.Second)
		w.Press(connectortest.Bob, bob, 0) // the newest card
		c.Pass(10 * time.Second)
		if got := strings.Join(c.since(bob, 0), "\n"); !strings.Contains(got, "Hand back first") {
			t.Errorf("a second talk begins: %q", got)
		}
		c.Pass(11 * time.Minute)
		if got := strings.Join(c.since(bob, 0), "\n"); strings.Count(got, "⏰") != 1 {
			t.Errorf("the person is reminded %d times: %q; want once", strings.Count(got, "⏰"), got)
		}
		if got := c.visitorReads(first); strings.Count(got, "Bob hasn't replied yet.") != 1 {
			t.Errorf("the visitor reads %q", got)
		}
		c.Say(connectortest.Bob, bob, "Hello, what is it abuot?")
		c.Pass(5 * time.Second)
		for _, m := range c.Messages(bob) {
			if strings.HasSuffix(m.Text, "abuot?") {
				c.Edit(bob, m, "Hello, what is it about?")
			}
		}
		c.Pass(5 * time.Second)
		if got := c.visitorReads(first); strings.Count(got, "it about?") != 1 || strings.Contains(got, "abuot") {
			t.Errorf("after an edit the visitor reads %q", got)
		}
		c.Say(connectortest.Ada, c.ada, "/block "+c.Account(connectortest.Bob))
		c.Pass(2 * time.Minute)
		if got := c.visitorReads(first); !strings.Contains(got, "Bob has left.") {
			t.Errorf("after the person was blocked the visitor reads %q", got)
		}
		if got := *c.readAll(c.send(first, "2", "Anyone?")).FullText; got == "" {
			t.Error("no one answers after the person was blocked")
		}
		w.Press(connectortest.Ada, c.ada, 0)
		c.Pass(10 * time.Second)
		c.deleteConversation(first)
		c.Pass(2 * time.Minute)
		c.Say(connectortest.Ada, c.ada, "Are you there?")
		c.Pass(10 * time.Second)
		got := c.since(c.ada, 0)
		if all := strings.Join(got, "\n"); !strings.Contains(all, "was deleted.") || !strings.HasPrefix(got[len(got)-1], "You said") {
			t.Errorf("after the deletion the person reads %q", got)
		}
	})
}

// One user talks to a person of the staff on the same platform. Files and deletions go both ways, and when the person is no longer staff the agent
// answers again.
func TestPersonOnOnePlatform(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.shutdown()
		c.cfg.People.Owners = []config.Account{config.Account(c.Account(connectortest.Eve))}
		c.cfg.People.Staff = []config.Member{config.Member(c.Account(connectortest.Ada))}
		c.start()
		c.Pass(10 * time.Second)
		c.Say(connectortest.Ada, c.ada, "Hello")
		c.Pass(10 * time.Second)
		bob := c.joinTalk()
		for _, side := range []struct {
			from   connectortest.User
			in, to connectortest.Room
		}{{connectortest.Bob, bob, c.ada}, {connectortest.Ada, c.ada, bob}} {
			c.SendFile(side.from, side.in, "See the list", connectortest.File{Name: "list.txt", Type: "text/plain", Data: []byte("milk")})
			c.Pass(30 * time.Second)
			if got := strings.Join(c.since(side.to, 0), "\n"); strings.Count(got, "See the list") != 1 {
				c.Errorf("%s's file comes as %s", side.from, got)
			}
			if !slices.ContainsFunc(c.Messages(side.to), func(m connectortest.Message) bool { return m.ByBot && len(m.Files) == 1 }) {
				c.Errorf("no file arrives from %s: %q", side.from, c.since(side.to, 0))
			}
			if c.platform.name != "discord" {
				continue // bots of Telegram don't hear of deletions
			}
			c.Say(side.from, side.in, "A secret of "+string(side.from))
			c.waitShown(side.to, "A secret of "+string(side.from))
			for _, m := range c.Messages(side.in) {
				if m.Text == "A secret of "+string(side.from) {
					c.Remove(side.in, m)
				}
			}
			c.Pass(10 * time.Second)
			if got := strings.Join(c.since(side.to, 0), "\n"); strings.Contains(got, "A secret of") || !strings.Contains(got, "deleted") {
				c.Errorf("a deleted message of %s stays: %s", side.from, got)
			}
		}
		c.shutdown()
		c.cfg.People.Staff = nil
		c.start()
		c.Pass(2 * time.Minute)
		if got := strings.Join(c.since(bob, 0), "\n"); !strings.Contains(got, "Ada has left.") {
			c.Errorf("without the role of the person the user reads %s", got)
		}
		n := len(c.since(bob, 0))
		c.Say(connectortest.Bob, bob, "Anyone?")
		c.Pass(10 * time.Second)
		if got := c.since(bob, n); len(got) == 0 || !strings.HasPrefix(got[len(got)-1], "You said") {
			c.Errorf("the agent does not answer again: %q", got)
		}
	})
}

// The operator's page lists a user who talks to a person, and ends that: both sides are told, and the agent answers.
func TestPersonHandedBackOnTheOperatorsPage(t *testing.T) {
	withDesk(t, func(c *chatHarness, _ func()) {
		o := c.logIn(connectortest.Ada)
		id := c.askForPerson()
		if got := o.get("/requests"); !strings.Contains(got, "about tea") || !strings.Contains(got, "waits") {
			c.Errorf("the page is %s", got)
		}
		c.Platform.(buttonPlatform).Press(connectortest.Ada, c.ada, 0)
		c.waitShown(c.ada, "You're talking to")
		shown := o.get("/requests")
		if !strings.Contains(shown, "talks to Ada") {
			c.Errorf("the page is %s", shown)
		}
		if got := o.post("/requests", "do", "hand back", "id", o.id(shown)); !strings.Contains(got, "handed the conversation") {
			c.Errorf("the page is %s", got)
		}
		c.waitShown(c.ada, "talks to the assistant again")
		if got := *c.readAll(c.send(id, "2", "Thanks!")).FullText; !strings.HasPrefix(got, "You said") {
			c.Errorf("the agent answers %q", got)
		}
		if got := o.post("/requests", "do", "hand back", "id", o.id(shown)); !strings.Contains(got, "not there any more") {
			c.Errorf("a second press: %s", got)
		}
	})
}

// An owner takes over on the operator's page, where they read and write; the card in their chat closes. A note stays there, a form that is sent twice
// arrives once, and after the hand-back, and a restart in between, the agent has read everything. Another user of the page can't write.
func TestPersonTakesOverOnTheOperatorsPage(t *testing.T) {
	withDesk(t, func(c *chatHarness, restart func()) {
		o := c.logIn(connectortest.Ada)
		id := c.askForPerson()
		request, talk := o.request()
		if got := o.post(talk, "do", "write", "id", request, "key", "early", "text", "Too early"); !strings.Contains(got, "not there any more") || !strings.Contains(got, "Too early") {
			c.Errorf("before taking over, a message is answered with %s", got)
		}
		if got := o.post(talk, "do", "take over", "id", request); !strings.Contains(got, "talks to Ada") {
			c.Errorf("after taking over the page is %s", got)
		}
		c.waitShown(c.ada, "Ada has taken over.")
		if w := c.Platform.(buttonPlatform); len(w.Buttons(c.ada)) != 0 {
			c.Errorf("the card has the buttons %q", w.Buttons(c.ada))
		}
		asked := len(c.model.Requests())
		c.readAll(c.send(id, "2", "Question 0"))
		restart()
		if got := o.get(talk); !strings.Contains(got, "Question 0") {
			c.Errorf("the page is %s", got)
		}
		for range 2 { // it is sent twice
			o.post(talk, "do", "write", "id", request, "key", "k1", "text", "Reply 0")
		}
		o.post(talk, "do", "note", "id", request, "key", "k2", "text", "a rude visitor")
		c.Pass(5 * time.Second)
		if got := o.get(talk); !strings.Contains(got, "a rude visitor") || strings.Count(got, "Reply 0") != 1 {
			c.Errorf("the page is %s", got)
		}
		c.Say(connectortest.Ada, c.ada, "This goes to the agent")
		c.Pass(10 * time.Second)
		if got := c.since(c.ada, 0); !strings.HasPrefix(got[len(got)-1], "You said") {
			c.Errorf("the own chat of the person is not the agent's: %q", got)
		}
		if got := len(c.model.Requests()); got != asked+1 {
			c.Errorf("the model was asked %d times; want once, in the own chat", got-asked)
		}
		c.readAll(c.send(id, "3", "Question 1"))
		if got := o.get(talk); !strings.Contains(got, "Ada is here now") || !strings.Contains(got, "<strong>Ada</strong>") || strings.Contains(got, "**") {
			c.Errorf("the page has marks, or no names: %s", got)
		}
		if got := o.post(talk, "do", "hand back", "id", request); !strings.Contains(got, "handed the conversation") || !strings.Contains(got, "with the agent again") {
			c.Errorf("after the hand-back the page is %s", got)
		}
		restart()
		c.readAll(c.send(id, "4", "Thanks!"))
		requests := c.model.Requests()
		for _, want := range []string{"Question 0", "Reply 0", "Question 1"} {
			if got := string(requests[len(requests)-1].Raw); !strings.Contains(got, want) || strings.Contains(got, "rude visitor") {
				c.Errorf("the agent reads %s", got)
			}
		}
		all := c.visitorReads(id)
		if _, got := c.request(http.MethodGet, "/api/conversations/"+id+"/messages", "", nil); strings.Count(got, `"person":"Ada"`) != 1 {
			c.Errorf("the messages are %s", got)
		}
		if strings.Count(all, "Ada**: Reply 0") != 1 || strings.Contains(all, "rude visitor") || strings.Contains(all, "Too early") {
			c.Errorf("the visitor reads %s", all)
		}
		if got := o.get("/audit"); !strings.Contains(got, "take over") || strings.Contains(got, "Reply 0") {
			c.Errorf("the audit log is %s", got)
		}
		c.readAll(c.send(id, "5", "/person once more"))
		if got := o.get(talk); !strings.Contains(got, "waits for a person") || !strings.Contains(got, "<strong>Ada</strong>") || strings.Contains(got, "**") {
			c.Errorf("with a second request the page is %s", got)
		}
		if got := o.get("/room?id=web%2F" + id); strings.Count(got, `<td data-label="By">Ada</td>`) != 1 || strings.Contains(got, "Ada**:") {
			c.Errorf("the page of the room is %s", got)
		}
		c.deleteConversation(id)
		c.Pass(2 * time.Minute) // the visitor could undo it
		if got := o.get(talk); !strings.Contains(got, "The user has deleted this conversation.") || strings.Contains(got, "Question 0") {
			c.Errorf("after the deletion the page is %s", got)
		}
	})
}

// After a talk, the words of its person stand under their name on the next card, as do their corrections.
func TestPersonIsNamedAfterTheTalk(t *testing.T) {
	withDesk(t, func(c *chatHarness, _ func()) {
		w, id := c.Platform.(buttonPlatform), c.newConversation()
		c.readAll(c.send(id, "1", "/person about tea"))
		c.waitShown(c.ada, "about tea")
		w.Press(connectortest.Ada, c.ada, 0)
		c.waitShown(c.ada, "You're talking to")
		for _, text := range []string{"Green or black?", "With milk?"} {
			c.Say(connectortest.Ada, c.ada, text)
			c.Pass(5 * time.Second)
		}
		for _, m := range c.Messages(c.ada) {
			if m.Text == "Green or black?" {
				c.Edit(c.ada, m, "Red or black?")
			}
		}
		c.Pass(5 * time.Second)
		c.readAll(c.send(id, "2", "/person back"))
		c.Pass(5 * time.Second)
		before := len(c.since(c.ada, 0))
		c.readAll(c.send(id, "3", "/person once more"))
		c.waitShown(c.ada, "once more")
		card := strings.ReplaceAll(strings.Join(c.since(c.ada, before), "\n"), "*", "")
		for _, text := range []string{"Green or black?", "✏️ Red or black?"} {
			if !strings.Contains(card, "\nAda: "+text) {
				c.Errorf("the card is %s", card)
			}
		}
	})
}

// The person on the operator's page opens the files of users, of the page and of a platform: a picture in the page, other files as downloads. Without a login they
// are closed, and they go with the conversation.
func TestPersonOpensFilesOnTheOperatorsPage(t *testing.T) {
	withDesk(t, func(c *chatHarness, restart func()) {
		o, bob, picture := c.logIn(connectortest.Ada), c.Direct(connectortest.Bob), modelfake.Picture(40, 30)
		c.Say(connectortest.Bob, bob, "/person")
		c.Pass(10 * time.Second)
		c.SendFile(connectortest.Bob, bob, "The cup", connectortest.File{Name: "cup.png", Type: "image/png", Data: picture})
		c.Pass(30 * time.Second)
		id := c.newConversation()
		upload := "/api/conversations/" + id + "/files?clientFileId=f1&name=list.txt"
		if status, reply := c.request(http.MethodPost, upload, "text/plain", []byte("milk")); status != http.StatusCreated {
			c.Fatalf("the upload is answered with %d %s", status, reply)
		}
		c.readAll(c.send(id, "1", "/person"))
		c.request(http.MethodPost, "/api/conversations/"+id+"/messages/stream", "application/json", []byte(`{"clientMessageId":"2","text":"The list","files":["f1"]}`))
		restart()
		files := map[string]string{}
		for _, request := range regexp.MustCompile(`href="/admin(/talk[^"]*)"`).FindAllStringSubmatch(o.get("/requests"), -1) {
			o.get(html.UnescapeString(request[1]))
			shown := o.get(html.UnescapeString(request[1])) // a page has no effect on the next one
			for _, f := range regexp.MustCompile(`(src|href)="/admin(/file[^"]*)"`).FindAllStringSubmatch(shown, -1) {
				address := html.UnescapeString(f[2])
				files[f[1]+" "+o.get(address)] = address
			}
		}
		asImage, asFile := files["src "+string(picture)], files["href milk"]
		if asImage == "" || asFile == "" || files["href "+string(picture)] != asImage || len(files) != 3 {
			c.Errorf("the pages lead to %q", files)
		}
		for _, address := range []string{asImage, asFile} {
			if _, got := c.request(http.MethodGet, "/admin"+address, "", nil); !strings.Contains(got, "Log in") || strings.Contains(got, "milk") {
				c.Errorf("without a login, %s is %s", address, got)
			}
		}
		c.deleteConversation(id)
		c.Pass(2 * time.Minute) // the visitor could undo it
		if got := o.get(asFile); !strings.Contains(got, "not there any more") {
			c.Errorf("after the deletion, the file is %s", got)
		}
	})
}

// A file that the person sends on the operator's page arrives on each platform, once for each form, also without words. Notes have no files, and empty files are refused.
func TestPersonSendsFilesOnTheOperatorsPage(t *testing.T) {
	withDesk(t, func(c *chatHarness, restart func()) {
		o, bob, page := c.logIn(connectortest.Ada), c.Direct(connectortest.Bob), c.newConversation()
		history := func() string {
			_, got := c.request(http.MethodGet, "/api/conversations/"+page+"/messages", "", nil)
			return got
		}
		send := map[string]func(text string){
			"platform": func(text string) { c.Say(connectortest.Bob, bob, text) },
			"page":     func(text string) { c.readAll(c.send(page, "1", text)) },
		}
		arrived := map[string]func() bool{
			"platform": func() bool {
				return slices.ContainsFunc(c.Messages(bob), func(m connectortest.Message) bool { return m.ByBot && len(m.Files) == 1 })
			},
			"page": func() bool { return strings.Count(history(), `"name":"list.html"`) == 1 },
		}
		for name, say := range send {
			say("/person")
			c.Pass(10 * time.Second)
			request, talk := o.request()
			o.post(talk, "do", "take over", "id", request)
			for _, wrong := range []struct{ do, content, want string }{{"note", "milk", "A note can&#39;t have a file."}, {"write", "", "The file is empty."}} {
				if got := o.postFile(talk, "list.html", wrong.content, "do", wrong.do, "id", request, "key", "k", "text", "Milk"); !strings.Contains(got, wrong.want) || !strings.Contains(got, "Milk</textarea>") {
					c.Errorf("%s: %s with %q is answered with %s", name, wrong.do, wrong.content, got)
				}
			}
			for range 2 { // it is sent twice
				o.postFile(talk, "list.html", "<b>milk</b>", "do", "write", "id", request, "key", "k", "text", "")
			}
			c.Pass(30 * time.Second)
			restart()
			if !arrived[name]() {
				c.Errorf("%s: no file arrives: %q, %s", name, c.since(bob, 0), history())
			}
			o.post(talk, "do", "hand back", "id", request)
			c.Pass(10 * time.Second)
		}
	})
}

// A person asks the agent for drafts, in the chat and on the operator's page. Only the person reads them; what they send goes to the user under their
// name, once, and a draft that is discarded is in no later prompt.
func TestPersonAsksForDrafts(t *testing.T) {
	withDesk(t, func(c *chatHarness, restart func()) {
		w := c.Platform.(buttonPlatform)
		id := c.askForPerson()
		c.Say(connectortest.Ada, c.ada, "/person suggest")
		c.waitShown(c.ada, "You're talking to the assistant.")
		w.Press(connectortest.Ada, c.ada, 0)
		c.waitShown(c.ada, "You're talking to A visitor")
		if got := *c.readAll(c.send(id, "0", "/person suggest")).FullText; got != "Ada is here already. Just write." {
			c.Errorf("the visitor's /person suggest is answered with %q", got)
		}
		c.readAll(c.send(id, "2", "Is the tea organic?"))
		for i, draft := range []string{"No idea.", "Yes, all of it."} {
			c.model.Queue(modelfake.Script{modelfake.Text(draft)})
			c.Say(connectortest.Ada, c.ada, "/person suggest")
			c.waitShown(c.ada, draft)
			if request := c.model.Requests(); !strings.Contains(string(request[len(request)-1].Raw), "Is the tea organic?") {
				c.Errorf("the draft is made of %s", request[len(request)-1].Raw)
			}
			restart()
			w.Press(connectortest.Ada, c.ada, 1-i)
			c.Pass(10 * time.Second)
		}
		if got := c.visitorReads(id); strings.Contains(got, "No idea") || strings.Count(got, "Ada**: Yes, all of it.") != 1 {
			c.Errorf("the visitor reads %s", got)
		}
		o := c.logIn(connectortest.Ada)
		request, talk := o.request()
		o.post(talk, "do", "hand back", "id", request)
		c.readAll(c.send(id, "3", "/person again"))
		c.Pass(10 * time.Second)
		request, talk = o.request()
		o.post(talk, "do", "take over", "id", request)
		c.model.Queue(modelfake.Script{modelfake.Text("A third draft")})
		if got := o.post(talk, "do", "suggest", "id", request); !strings.Contains(got, "A third draft</textarea>") {
			c.Errorf("the page is %s", got)
		}
		if got := c.visitorReads(id); strings.Contains(got, "third draft") {
			c.Errorf("the visitor reads %s", got)
		}
		o.post(talk, "do", "hand back", "id", request)
		c.readAll(c.send(id, "4", "Thanks!"))
		requests := c.model.Requests()
		if got := string(requests[len(requests)-1].Raw); !strings.Contains(got, "Yes, all of it.") || strings.Contains(got, "No idea") || strings.Contains(got, "third draft") {
			c.Errorf("the agent reads %s", got)
		}
	})
}

// Outside of the opening hours, a request says when people are there and offers a form. The next two messages answer it. They reach the owner once, with
// the address; an empty chat of the owner gets no card. Within them, the same form comes if no one has taken over after ten minutes.
func TestPersonOutsideOfTheOpeningHours(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		bob := c.Direct(connectortest.Bob)
		c.cfg.People.Hours, c.cfg.Timezone = []string{"Wed 12:00-12:01"}, "UTC"
		c.startDesk()
		const address = "bob_b_b@example.org, Tel: +49 (0)30 1234_5, https://bob_b.example, Lange Allee 123, 10115 Berlin"
		page, sent, times := c.newConversation(), 0, 0
		sides := []struct {
			say   func(string)
			shown func() string
		}{
			{func(text string) { c.Say(connectortest.Bob, bob, text) }, func() string { return strings.Join(c.since(bob, 0), "\n") }},
			{func(text string) { sent++; c.readAll(c.send(page, fmt.Sprint(sent), text)) }, func() string { return c.visitorReads(page) }},
		}
		ask := func(words, asks string, after time.Duration) {
			c.Helper()
			times++
			for i, side := range sides {
				say := func(text string) { side.say(text); c.Pass(10 * time.Second) }
				say(words)
				c.Pass(after)
				if got := side.shown(); !strings.Contains(got, asks) || strings.Count(got, "You can leave a message") != times {
					c.Errorf("a request is answered with %s", got)
				}
				if i == 0 { // the page refuses the request
					say(strings.Repeat("b", 201))
				}
				if got := side.shown(); i == 0 && strings.Count(got, "to 200 characters") != times {
					c.Errorf("after an address that is too long comes %s", got)
				}
				say(address)
				if got := side.shown(); strings.Count(got, "Your message") != times {
					c.Errorf("after the address comes %s", got)
				}
				c.WaitIdle()
				c.restart()
				c.Pass(10 * time.Second)
				say("My tea is cold")
				if got := side.shown(); strings.Count(got, "passed your message on") != times {
					c.Errorf("after the message comes %s", got)
				}
				all := c.since(c.ada, 0)
				if got := all[len(all)-1]; !strings.Contains(got, address) || !strings.Contains(got, "My tea is cold") || !strings.Contains(got, "has left a message") {
					c.Errorf("the owner reads %s", got)
				}
			}
		}
		const closed = "People are here Wed 12:00-12:01 (UTC).\n\nYou can leave a message" // in one message
		ask("/person", closed, 0)
		for range sides {
			c.model.Queue(modelfake.Script{modelfake.ToolCall("c", "ASK_PERSON", `{"reason":"cold tea"}`)})
		}
		ask("Let me talk to someone.", closed, 0)
		if got := strings.Join(c.since(c.ada, 0), "\n"); strings.Contains(got, "🙋") {
			c.Errorf("the owner has a card: %s", got)
		}
		c.shutdown()
		c.cfg.People.Hours = []string{"Mon-Sun 00:00-23:59", "Mon-Sun 23:59-00:00"}
		c.start()
		ask("/person", "No one has come yet", 12*time.Minute)
	})
}

// The owner reads German, a member of the staff and the visitor English. Each reads all words of the gateway about the visitor in their own language.
func TestPersonReadsOwnLanguage(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		w, bob := c.Platform.(buttonPlatform), c.Direct(connectortest.Bob)
		c.cfg.People.Staff = []config.Member{config.Member(c.Account(connectortest.Bob))}
		c.startDesk()
		c.Say(connectortest.Bob, bob, "Hello")
		c.Say(connectortest.Ada, c.ada, "/language de")
		n := len(c.since(c.ada, 0))
		id := c.askForPerson()
		w.Press(connectortest.Bob, bob, 0)
		c.waitShown(c.ada, "Bob hat übernommen")
		if got := strings.Join(c.since(bob, 0), "\n"); !strings.Contains(got, "You're talking to A visitor") {
			c.Errorf("the member of the staff reads %s", got)
		}
		c.Say(connectortest.Bob, bob, "/person back")
		c.Pass(10 * time.Second)
		c.readAll(c.send(id, "2", "/person about cake"))
		c.waitShown(c.ada, "about cake")
		w.Press(connectortest.Ada, c.ada, 0)
		c.waitShown(c.ada, "Ein Besucher")
		if got := strings.Join(c.since(bob, 0), "\n"); !strings.Contains(got, "Ada has taken over") || strings.Contains(got, "Besucher") {
			c.Errorf("the member of the staff reads %s", got)
		}
		c.readAll(c.send(id, "3", "My cake is cold"))
		c.waitShown(c.ada, ": My cake is cold")
		c.Pass(11 * time.Minute)
		c.readAll(c.send(id, "4", "/person back"))
		c.Pass(10 * time.Second)
		c.shutdown()
		c.cfg.People.Hours, c.cfg.Timezone = []string{"Wed 12:00-12:01"}, "UTC"
		c.start()
		for i, text := range []string{"/person", "me@example.org", "My tea is cold"} {
			c.readAll(c.send(id, fmt.Sprint("form", i), text))
			c.Pass(10 * time.Second)
		}
		for in, want := range map[connectortest.Room]string{c.ada: "Ein Besucher", bob: "A visitor"} {
			if got := c.since(in, 0); strings.Contains(got[len(got)-1], "Forwarded") || !strings.Contains(got[len(got)-1], want) || !strings.Contains(got[len(got)-1], "me@example.org") {
				c.Errorf("the message that was left is %q; want it of %q", got[len(got)-1], want)
			}
		}
		if got := strings.Join(c.since(c.ada, n), "\n"); strings.Contains(got, "A visitor") || strings.Contains(got, "taken over") {
			c.Errorf("the owner reads %s", got)
		}
	})
}

// A message whose post fails twice with an unknown outcome is given up. Its author is told, on either side, and on the operator's page.
func TestPersonIsToldOfALostMessage(t *testing.T) {
	onTelegram(t, func(c *chatHarness, w *telegramworld.Platform) {
		c.startDesk()
		const lost = "It is unknown whether your last message reached "
		say := func(from connectortest.User, in, to connectortest.Room, said string) {
			c.Helper()
			c.allowedOrphans++
			w.Fake.Fault(telegramfake.Fault{Method: "sendMessage", Chat: telegramworld.Chat(to).ID, Drop: true, Times: 2})
			c.Say(from, in, "This is lost")
			c.Pass(time.Minute)
			if got := c.since(in, 0); !strings.Contains(got[len(got)-1], lost+said) {
				c.Errorf("%s reads %q", from, got)
			}
			if got := strings.Join(c.since(to, 0), "\n"); strings.Contains(got, lost+said) {
				c.Errorf("the other side of %s reads %s", from, got)
			}
		}
		bob := c.joinTalk()
		say(connectortest.Ada, c.ada, bob, "Bob")
		say(connectortest.Bob, bob, c.ada, "Ada")
		c.Say(connectortest.Bob, bob, "/person back")
		c.Pass(10 * time.Second)
		o := c.logIn(connectortest.Ada)
		c.Say(connectortest.Bob, bob, "/person again")
		c.Pass(10 * time.Second)
		request, talk := o.request()
		o.post(talk, "do", "take over", "id", request)
		c.Pass(10 * time.Second)
		c.allowedOrphans++
		w.Fake.Fault(telegramfake.Fault{Method: "sendMessage", Chat: telegramworld.Chat(bob).ID, Drop: true, Times: 2})
		o.post(talk, "do", "write", "id", request, "key", "k", "text", "Lost, too")
		c.Pass(time.Minute)
		if got := o.get(talk); strings.Count(got, lost+"Bob") != 1 {
			c.Errorf("the page is %s", got)
		}
	})
}

// A person on the operator's page loses the role: the user is told, and the owner gets a card. A user deletes the conversation while a person
// writes there: the message goes nowhere, and the page says so.
func TestPersonOnTheOperatorsPageThroughFaults(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		bob := c.Direct(connectortest.Bob)
		c.cfg.People.Staff = []config.Member{config.Member(c.Account(connectortest.Bob))}
		c.startDesk()
		c.Say(connectortest.Bob, bob, "Hello")
		c.Pass(10 * time.Second)
		o := c.logIn(connectortest.Bob)
		id := c.newConversation()
		c.readAll(c.send(id, "1", "/person about tea"))
		request, talk := o.request()
		o.post(talk, "do", "take over", "id", request)
		c.waitShown(c.ada, "Bob has taken over.")
		c.shutdown()
		c.cfg.People.Staff = nil
		c.start()
		c.Pass(2 * time.Minute)
		lines := c.lines(id)
		if got := lines[len(lines)-1].Text; !strings.Contains(got, "Bob has left.") {
			c.Errorf("the visitor reads %q", got)
		}
		if got := o.post(talk, "do", "write", "id", request, "key", "k", "text", "Am I?"); !strings.Contains(got, "Your session has ended.") {
			c.Errorf("the person of before reads %s", got)
		}
		o = c.logIn(connectortest.Ada)
		request, talk = o.request()
		o.post(talk, "do", "take over", "id", request)
		c.deleteConversation(id)
		c.Pass(2 * time.Minute) // the visitor could undo it
		if got := o.post(talk, "do", "write", "id", request, "key", "k", "text", "Too late"); !strings.Contains(got, "not there any more") || !strings.Contains(got, "Too late") {
			c.Errorf("after the deletion the person reads %s", got)
		}
	})
}

// The platform of the user is away for an hour: the messages of the person arrive afterwards, each once and in their order. Where it is unknown whether
// a failed request was executed, the person is told of each.
func TestPersonOutlivesAnOutage(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.startDesk()
		bob := c.joinTalk()
		if w, ok := c.Platform.(*telegramworld.Platform); ok {
			w.Fake.Fault(telegramfake.Fault{Status: http.StatusBadGateway, Chat: telegramworld.Chat(bob).ID, Times: -1})
		} else {
			w := c.Platform.(*discordworld.Platform)
			w.Fake.Fault(discordfake.Match{Route: discordfake.CreateMessage, Channel: string(bob), Times: -1}, discordfake.ErrorCode(http.StatusServiceUnavailable, 0, "Service Unavailable"))
		}
		said := []string{"Your order was lost.", "We send it again."}
		for _, text := range said {
			c.Say(connectortest.Ada, c.ada, text)
			c.Pass(10 * time.Minute)
		}
		c.restart()
		c.Pass(40 * time.Minute)
		c.ClearFaults()
		c.Pass(5 * time.Minute)
		if c.platform.name == "discord" {
			if got := strings.Join(c.since(c.ada, 0), "\n"); strings.Count(got, "unknown whether your last message reached Bob") != len(said) {
				c.Errorf("the person reads %s", got)
			}
			c.allowedOrphans = len(said) // their author knows
			return
		}
		got := strings.Join(c.since(bob, 0), "\n")
		if first, second := strings.Index(got, said[0]), strings.Index(got, said[1]); first < 0 || second < first || strings.Count(got, said[0])+strings.Count(got, said[1]) != 2 {
			c.Errorf("after the outage Bob reads %s", got)
		}
	})
}

// The page of a visitor who talks to a person is closed for an hour, while the person writes and edits, and the gateway dies. Back on the page, the
// visitor reads everything once, and a message that the page sends again is not a second one.
func TestPersonWritesToAClosedPage(t *testing.T) {
	withDesk(t, func(c *chatHarness, restart func()) {
		id := c.talkToVisitor()
		c.send(id, "2", "Question 0").Close() // the page does not read what becomes of it
		c.waitShown(c.ada, "Question 0")
		c.Say(connectortest.Ada, c.ada, "Reply 0")
		c.Pass(20 * time.Minute)
		restart()
		c.Say(connectortest.Ada, c.ada, "Replay 1")
		c.Pass(10 * time.Second)
		for _, m := range c.Messages(c.ada) {
			if m.Text == "Replay 1" {
				c.Edit(c.ada, m, "Reply 1")
			}
		}
		c.Pass(40 * time.Minute)
		for range 2 {
			c.readAll(c.send(id, "2", "Question 0"))
		}
		c.readAll(c.send(id, "3", "Question 1"))
		c.Pass(10 * time.Second)
		c.wantTalk(id, []string{"Question 0", "Reply 0", "Reply 1", "Question 1"})
	})
}

// A person who talks to a user also checks an answer to someone else: a reply to its card is the decision, before and after it has closed. None of it
// reaches the user of the talk, and words that are no reply go only there.
func TestPersonRepliesToCardMeanwhile(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		bob, _ := withHeld(c)
		id := c.talkToVisitor()
		c.askHeld(bob, "How much is tea?", "Tea costs 3 euros.")
		all := c.Messages(c.ada)
		card := all[len(all)-1]
		c.Say(connectortest.Ada, c.ada, "Send") // to the visitor
		c.Pass(5 * time.Second)
		c.Reply(connectortest.Ada, c.ada, card, "It costs 4 euros.")
		c.waitShown(bob, "It costs 4 euros.")
		c.Reply(connectortest.Ada, c.ada, card, "No, 5 euros.")
		c.waitShown(c.ada, "This question has closed.")
		lines := c.lines(id)
		if got := fmt.Sprint(lines); strings.Contains(got, "euros") || strings.Count(got, "Ada**: Send") != 1 {
			c.Errorf("the user of the talk reads %s", got)
		}
		c.wantNotShown(bob, "5 euros")
	})
}

// A person of the staff who waits for another person takes over a conversation: their own request ends, and their words go to the user.
func TestPersonWhoWaitsTakesOver(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		w, bob := c.Platform.(buttonPlatform), c.Direct(connectortest.Bob)
		c.cfg.People.Staff = []config.Member{config.Member(c.Account(connectortest.Bob))}
		c.startDesk()
		c.Say(connectortest.Bob, bob, "/person")
		c.Pass(10 * time.Second)
		id := c.newConversation()
		c.readAll(c.send(id, "1", "/person about tea"))
		c.Pass(10 * time.Second)
		w.Press(connectortest.Bob, bob, 0)
		c.Pass(10 * time.Second)
		c.Say(connectortest.Bob, bob, "What is it?")
		c.Pass(10 * time.Second)
		lines := c.lines(id)
		if got := lines[len(lines)-1].Text; !strings.Contains(got, "What is it?") {
			c.Errorf("the user reads %q", got)
		}
		if got := w.Buttons(c.ada); len(got) > 0 {
			c.Errorf("the owner's cards have the buttons %q", got)
		}
	})
}

// A user and a person of one platform talk: a message that becomes a note goes, a misspelled command ends nothing, and a user who forgets the
// conversation ends the talk.
func TestPersonCorrectsAndUserForgets(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.startDesk()
		bob := c.joinTalk()
		c.Say(connectortest.Ada, c.ada, "A rude customer")
		c.waitShown(bob, "A rude customer")
		edit := func(from, to string) {
			for _, m := range c.Messages(c.ada) {
				if m.Text == from {
					c.Edit(c.ada, m, to)
				}
			}
			c.Pass(10 * time.Second)
		}
		edit("A rude customer", "// A rude customer")
		edit("// A rude customer", "// A very rude customer")
		c.wantNotShown(bob, "rude")
		c.Say(connectortest.Ada, c.ada, "/person sugest")
		c.Pass(10 * time.Second)
		c.Say(connectortest.Ada, c.ada, "Are you there?")
		c.waitShown(bob, "Are you there?")
		c.Say(connectortest.Bob, bob, "/new")
		c.Pass(10 * time.Second)
		c.Platform.(buttonPlatform).Press(connectortest.Bob, bob, 0)
		c.waitShown(c.ada, "The conversation with Bob was deleted.")
		c.allowDeletion()
	})
}

// A person who blocks the bot on Telegram is replaced. A user who is blocked ends the talk.
func TestPersonCanNotBeReached(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.startDesk()
		bob := c.joinTalk()
		c.Say(connectortest.Ada, c.ada, "What is it?")
		c.waitShown(bob, "What is it?")
		if w, ok := c.Platform.(*telegramworld.Platform); ok {
			w.Fake.Block(w.User(connectortest.Ada))
			c.waitShown(bob, "Ada has left.")
			return
		}
		c.Say(connectortest.Ada, c.ada, "/block "+c.Account(connectortest.Bob))
		c.waitShown(c.ada, "Bob was blocked.")
	})
}

// The visitor of the page corrects the last message while a person answers: the person reads it, and the page is not told to send it again.
func TestPersonReadsCorrectionOfThePage(t *testing.T) {
	withDesk(t, func(c *chatHarness, _ func()) {
		id := c.talkToVisitor()
		c.readAll(c.send(id, "2", "Is it organc?"))
		c.waitShown(c.ada, "organc")
		lines := c.lines(id)
		said := lines[slices.IndexFunc(lines, func(l sim.Line) bool { return strings.Contains(l.Text, "organc") })]
		again := "/api/conversations/" + id + "/messages/" + url.PathEscape(said.ID) + "/again/stream"
		if status, reply := c.request(http.MethodPost, again, "application/json", []byte(`{"text":"Is it organic?"}`)); status != http.StatusOK {
			c.Errorf("the correction is answered with %d %s", status, reply)
		}
		c.waitShown(c.ada, "organic?")
	})
}

// When two answers in a row fail, a person is asked for, once until an answer succeeds, also if the gateway dies. The user reads what /person says, and
// the owner the reason in their language.
func TestPersonIsAskedForAfterFailures(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		bob := c.Direct(connectortest.Bob)
		c.startDesk()
		c.Say(connectortest.Ada, c.ada, "/language de")
		c.Pass(10 * time.Second)
		ask := func(works bool, asked, cards int) {
			c.Helper()
			if !works {
				c.model.Queue(modelfake.Script{modelfake.Status(http.StatusUnauthorized, "")})
			}
			c.Say(connectortest.Bob, bob, "How much is tea?")
			c.Pass(2 * time.Minute)
			if got := strings.Join(c.since(bob, 0), "\n"); strings.Count(got, "I've asked for a person") != asked {
				c.Errorf("the user reads %s; want %d requests", got, asked)
			}
			if got := strings.Join(c.since(c.ada, 0), "\n"); strings.Count(got, "zweimal hintereinander nicht antworten") != cards {
				c.Errorf("the owner reads %s; want %d cards", got, cards)
			}
		}
		ask(false, 0, 0)
		c.restart()
		c.model.Queue(modelfake.Script{modelfake.Status(http.StatusUnauthorized, "")})
		c.Say(connectortest.Bob, bob, "And cake?")
		c.waitShown(c.ada, "zweimal hintereinander nicht antworten")
		c.restart()
		c.Pass(time.Minute)
		ask(false, 1, 1)
		ask(true, 1, 1)
		ask(false, 1, 1)
		ask(false, 2, 1) // the request is still open
		c.Platform.(buttonPlatform).Press(connectortest.Ada, c.ada, 0)
		c.waitShown(bob, "is here now")
	})
}

// Outside of the opening hours, the second failed answer names them and offers the form. Where no person can be reached, it says nothing about one; nor does
// that to an owner.
func TestPersonAfterFailuresOutsideOfTheOpeningHours(t *testing.T) {
	onTelegram(t, func(c *chatHarness, _ *telegramworld.Platform) {
		bob := c.Direct(connectortest.Bob)
		fail := func(who connectortest.User, in connectortest.Room) string {
			n := len(c.since(in, 0))
			for range 2 {
				c.model.Queue(modelfake.Script{modelfake.Status(http.StatusUnauthorized, "")})
				c.Say(who, in, "How much is tea?")
				c.Pass(2 * time.Minute)
			}
			return strings.Join(c.since(in, n), "\n")
		}
		if got := fail(connectortest.Bob, bob); strings.Contains(got, "reached from here") {
			c.Errorf("without an owner the user reads %s", got)
		}
		c.cfg.People.Hours, c.cfg.Timezone = []string{"Wed 12:00-12:01"}, "UTC"
		c.startDesk()
		c.Say(connectortest.Bob, bob, "Thanks")
		c.Pass(10 * time.Second)
		if got := fail(connectortest.Ada, c.ada); strings.Contains(got, "People are here") {
			c.Errorf("the owner reads %s", got)
		}
		if got := fail(connectortest.Bob, bob); strings.Count(got, "People are here Wed 12:00-12:01 (UTC).") != 1 || strings.Count(got, "An address for the reply") != 1 {
			c.Errorf("the user reads %s", got)
		}
	})
}

// A person whose direct messages are closed on Discord is replaced: their user is told, and does not read that the message has arrived. A user who has
// closed theirs ends the talk.
func TestPersonClosesDirectMessages(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		c.cfg.People.Staff = []config.Member{config.Member(c.Account(connectortest.Eve))}
		c.startDesk()
		eve := c.Direct(connectortest.Eve)
		c.Say(connectortest.Eve, eve, "Hello")
		c.Pass(10 * time.Second)
		bob := c.joinTalk()
		c.forgotten = map[string]bool{"": true} // refused messages are not shown
		w.Fake.CloseDMs(w.User(connectortest.Ada))
		c.Say(connectortest.Bob, bob, "My tea is cold")
		c.waitShown(bob, "Ada has left.")
		c.waitShown(eve, "My tea is cold")
		c.Pass(15 * time.Minute)
		c.wantNotShown(bob, "has arrived")
		w.Press(connectortest.Eve, eve, 0)
		c.waitShown(bob, "is here now")
		w.Fake.CloseDMs(w.User(connectortest.Bob))
		c.Say(connectortest.Eve, eve, "What is it?")
		c.waitShown(eve, "Bob can't be reached any more.")
		c.Say(connectortest.Eve, eve, "Are you there?")
		c.waitShown(eve, "You said")
	})
}

// Outside of the opening hours, with no one reachable but on the operator's page, a request names the hours and offers the form; the page lists its message.
func TestPersonOutsideOfTheOpeningHoursOnTheOperatorsPage(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.cfg.People.Hours, c.cfg.Timezone = []string{"Wed 12:00-12:01"}, "UTC"
		c.startDesk()
		o := c.logIn(connectortest.Ada)
		for _, text := range []string{"/person", "ada@example.org", "My tea is cold"} { // her own request has no other direct chat
			c.Say(connectortest.Ada, c.ada, text)
			c.Pass(10 * time.Second)
		}
		got := strings.Join(c.since(c.ada, 0), "\n")
		for _, want := range []string{"People are here Wed 12:00-12:01 (UTC).", "An address for the reply", "passed your message on"} {
			if !strings.Contains(got, want) {
				c.Errorf("the user reads %s; want %q", got, want)
			}
		}
		if page := o.get("/requests"); !strings.Contains(page, "ada@example.org: My tea is cold") {
			c.Errorf("the page is %s", page)
		}
		c.Pass(15 * time.Minute)
		c.wantNotShown(c.ada, "No one has come yet")
		for _, text := range []string{"/language de", "/person"} {
			c.Say(connectortest.Ada, c.ada, text)
			c.Pass(10 * time.Second)
		}
		if got := strings.Join(c.since(c.ada, 0), "\n"); !strings.Contains(got, "Menschen sind hier Mi 12:00-12:01 (UTC).") {
			c.Errorf("in German, the user reads %s", got)
		}
	})
}

// A person takes over while an answer waits to be checked: the user reads of the person, and no word of the answer that has ended.
func TestPersonTakesOverDuringHeldAnswer(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		bob, _ := withHeld(c)
		o := c.logIn(connectortest.Ada)
		c.Say(connectortest.Bob, bob, "/person")
		c.waitShown(c.ada, "asks for a person")
		request, talk := o.request()
		c.askHeld(bob, "How much is tea?", "Tea costs 3 euros.")
		o.post(talk, "do", "take over", "id", request)
		c.waitShown(bob, "is here now")
		c.Pass(time.Minute)
		for _, part := range []string{"Stopped.", "being checked", "3 euros"} {
			c.wantNotShown(bob, part)
		}
	})
}
