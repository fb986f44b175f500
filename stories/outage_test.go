package stories_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/telegramworld"
	"parley/connectors/telegram/telegramfake"
	"parley/internal/lang"
	"parley/internal/subtest"
	"parley/models/modelfake"
)

// An outage fails every request to Telegram's server from its beginning.
var outages = map[string]telegramfake.Fault{
	"500":              {Status: http.StatusInternalServerError, Body: `{"ok":false,"error_code":500,"description":"Internal Server Error"}`},
	"502 with a page":  {Status: http.StatusBadGateway},
	"closed":           {Drop: true},
	"closed, done":     {Drop: true, Apply: true}, // the first create of each chat
	"no connection":    {},
	"half an answer":   {Half: true}, // likewise
	"502, then closed": {Status: http.StatusBadGateway},
}

// breakTelegram begins an outage, and returns what ends it.
func breakTelegram(c *chatHarness, w *telegramworld.Platform, kind string, chats ...connectortest.Room) (mend func()) {
	f := outages[kind]
	switch {
	case f == (telegramfake.Fault{}):
		c.refuseConnections("telegram.test:80")
		return func() { c.refuseConnections("") }
	case f.Apply || f.Half:
		for _, in := range chats {
			f.Method, f.Chat = "sendMessage", telegramworld.Chat(in).ID
			w.Fake.Fault(f)
		}
		f = telegramfake.Fault{Drop: true}
	case kind == "502, then closed":
		f.Times = 9
		w.Fake.Fault(f)
		f = telegramfake.Fault{Drop: true}
	}
	f.Times = -1
	w.Fake.Fault(f)
	return w.Fake.ClearFaults
}

// ST-27: Telegram fails while answers are sent to several chats. When it is back, each is shown within a minute, and is repeated at most
// once, also if the gateway restarts meanwhile.
func TestTelegramOutage(t *testing.T) {
	type outage struct {
		kind     string
		lasts    time.Duration
		restarts bool
	}
	var all []outage
	for kind := range outages {
		all = append(all, outage{kind, 20 * time.Second, false}, outage{kind, 10 * time.Minute, true})
	}
	all = append(all, outage{"closed, done", time.Hour, true}, outage{"502 with a page", time.Hour, false})
	for _, o := range all {
		t.Run(fmt.Sprintf("%s for %v, restart %t", o.kind, o.lasts, o.restarts), subtest.Of(onTelegram, func(c *chatHarness, w *telegramworld.Platform) { c.surviveOutage(w, o.kind, o.lasts, o.restarts) }))
	}
}

func (c *chatHarness) surviveOutage(w *telegramworld.Platform, kind string, d time.Duration, restarts bool) {
	bob := c.Direct(connectortest.Bob)
	done := outages[kind].Apply || outages[kind].Half
	c.choose = func(r modelfake.Request) modelfake.Script {
		if strings.Contains(string(r.Raw), "slowly") {
			return modelfake.Script{modelfake.Text(tale), modelfake.Pause(10 * time.Second), modelfake.Text(" The end.")}
		}
		return modelfake.Script{modelfake.Pause(10 * time.Second), modelfake.Text("Yes.")}
	}
	c.Say(connectortest.Ada, c.ada, "Is it so?")
	c.Mention(connectortest.Ada, c.group, "Is that so?")
	c.Say(connectortest.Bob, bob, "Tell me slowly")
	c.waitShown(bob, "twice.")
	c.Pass(5 * time.Second)
	mend := breakTelegram(c, w, kind, c.ada, c.group)
	c.Pass(d / 2)
	if restarts {
		c.restart()
	}
	c.Pass(d - d/2)
	mend()
	c.Pass(65 * time.Second)
	for _, in := range []connectortest.Room{c.ada, c.group, bob} {
		want := [][]string{{"Yes."}, {"Yes.\n\n" + lang.Voice{}.Say("message.repeated")}}
		if done {
			want = [][]string{{"Yes.", "Yes.\n\n" + lang.Voice{}.Say("message.repeated")}}
		}
		if in == bob {
			want = [][]string{{tale + " The end."}}
		}
		if own := connectortest.BotTexts(c, in); !slices.ContainsFunc(want, func(w []string) bool { return slices.Equal(own, w) }) {
			c.Errorf("in %s people read %q; want one of %q", in, own, want)
		}
	}
	if done {
		c.allowedOrphans = 2 // the first creates
	}
	if c.WaitIdle(); strings.Contains(c.Logged.String(), "may not have arrived") {
		c.Error("the log says that an answer may not have arrived")
	}
}

// ST-27: a repetition whose fate is unknown again is not sent a third time. The log, the history and the owner tell.
func TestTelegramRepetitionIsUnheard(t *testing.T) {
	site := platforms()[0]
	onPlatform(t, site, nil, func(c *chatHarness) {
		w, bob := c.Platform.(*telegramworld.Platform), c.Direct(connectortest.Bob)
		c.Say(connectortest.Bob, bob, "Hi")
		c.WaitIdle()
		c.crash()
		c.cfg.People.Owners = []config.Account{config.Account(c.Account(connectortest.Bob))}
		c.start()
		c.Say(connectortest.Bob, bob, "Hello")
		c.WaitIdle()
		w.Fake.Fault(telegramfake.Fault{Method: "sendMessage", Chat: telegramworld.Chat(c.ada).ID, Drop: true, Times: 2})
		c.Say(connectortest.Ada, c.ada, "Is it so?")
		c.WaitIdle()
		if own := connectortest.BotTexts(c, c.ada); len(own) != 0 {
			c.Errorf("people read %q; want none", own)
		}
		c.Say(connectortest.Ada, c.ada, "Are you there?")
		c.WaitIdle()
		if own := connectortest.BotTexts(c, bob); !strings.Contains(own[len(own)-1], "may not have arrived") {
			c.Errorf("the owner reads %q", own)
		}
		if !strings.Contains(c.Logged.String(), "may not have arrived") || !strings.Contains(c.modelRequest(3), "It is unknown whether this answer arrived") {
			c.Errorf("the log says nothing, or the prompt: %s", c.modelRequest(3))
		}
		c.allowedOrphans = 1
	})
}

// ST-31: the gateway dies while the first message of an answer is on its way. In a private chat the message becomes the answer; in a group
// it stays above. Messages that the journal knows, such as the reply to a command, are left alone.
func TestTelegramAdoptsABeginning(t *testing.T) {
	onTelegram(t, func(c *chatHarness, w *telegramworld.Platform) {
		for _, in := range []connectortest.Room{c.ada, c.group} {
			w.Fake.Fault(telegramfake.Fault{Method: "sendMessage", Chat: telegramworld.Chat(in).ID, DelayAnswer: 10 * time.Second})
		}
		c.choose = func(modelfake.Request) modelfake.Script { return slowScript(tale) }
		c.Say(connectortest.Ada, c.ada, "Tell me")
		c.Mention(connectortest.Ada, c.group, "Tell us")
		c.waitShown(c.ada, "Once upon a time")
		c.waitShown(c.group, "Once upon a time")
		c.restart()
		c.wantShown(c.ada, tale)
		if own := connectortest.BotTexts(c, c.group); len(own) != 2 || own[1] != tale {
			c.Errorf("the group reads %q", own)
		}
		c.allowedOrphans = 1
	})
	onTelegram(t, func(c *chatHarness, w *telegramworld.Platform) {
		w.Fake.Fault(telegramfake.Fault{Method: "sendMessage", Delay: 10 * time.Second}) // it never arrives
		c.choose = func(modelfake.Request) modelfake.Script { return slowScript(tale) }
		c.Say(connectortest.Ada, c.ada, "Tell me")
		for !slices.ContainsFunc(w.Fake.Log(), func(r telegramfake.Request) bool { return r.Method == "sendMessage" }) {
			c.Pass(50 * time.Millisecond)
		}
		c.restart()
		c.Say(connectortest.Ada, c.ada, "/status")
		c.WaitIdle()
		if own := connectortest.BotTexts(c, c.ada); len(own) != 2 || own[1] != tale || own[0] == tale {
			c.Errorf("people read %q", own)
		}
	})
}

// When a platform rejects the bot's token, the owners are told in their direct chats on another platform, once, also across a restart.
func TestOwnersHearOfARejectedToken(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		other := platforms()[0]
		if other.name == c.name {
			other = platforms()[1]
		}
		c.shutdown()
		w, err := other.newServer() // it lets years pass
		c.Must(err)
		t := c.T
		t.Cleanup(w.Close)
		c.start()
		c.Pass(10 * time.Second)
		c.Say(connectortest.Ada, c.ada, "Hi") // the owner has a direct chat
		c.Pass(time.Minute)
		c.WaitIdle()
		c.shutdown()
		c.servers = append(c.servers, other.address)
		connectortest.Serve(t, c.listen(other.address), http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(http.StatusUnauthorized)
			_, _ = rw.Write([]byte(`{"ok":false,"error_code":401,"description":"Unauthorized","message":"401: Unauthorized","code":0}`))
		}))
		c.secrets = append(c.secrets, other.enable(&c.cfg, w, "http://"+strings.TrimSuffix(other.address, ":80")))
		c.cfg.People.Owners = []config.Account{config.Account(c.Account(connectortest.Ada))}
		for range 2 {
			c.start()
			c.Pass(2 * time.Minute)
			c.shutdown()
		}
		c.start()
		n := 0
		for _, text := range connectortest.BotTexts(c, c.ada) {
			if strings.Contains(text, "can't be reached") && strings.Contains(text, "connectors."+other.name+".token") {
				n++
			}
		}
		if n != 1 {
			t.Errorf("the owner reads of it %d times: %q", n, connectortest.BotTexts(c, c.ada))
		}
	})
}
