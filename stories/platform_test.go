package stories_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/config/configtest"
	"parley/connectors/connectortest"
	"parley/connectors/telegram"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/lang"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/models/modelfake"
	"parley/progressive"
)

const tale = "Once upon a time there was a gateway that stood between people and a machine, and it told each of them, " +
	"word by word, what the machine had to say, without losing one and without saying one twice."

// slowScript tells a text word by word.
func slowScript(text string) modelfake.Script {
	return modelfake.Script{modelfake.Pace(300 * time.Millisecond), modelfake.Text(text, modelfake.ByWord)}
}

// ST-01, ST-20: an answer is one message that grows.
func TestChatAnswer(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.model.Queue(slowScript(tale))
		c.Say(connectortest.Ada, c.ada, "Tell me a tale")
		c.waitShown(c.ada, "Once upon a time")
		c.wantShown(c.ada, tale)
		m := c.Messages(c.ada)[1]
		if n := len(m.Versions); n < 3 || n > 12 {
			t.Errorf("it was shown in %d steps; want at least 3 and at most 12", n)
		}
		c.Say(connectortest.Ada, c.ada, "And now?")
		c.wantShown(c.ada, tale, "You said: And now?")
		if p := c.modelRequest(1); !strings.Contains(p, "Tell me a tale") || !strings.Contains(p, "Once upon a time") {
			t.Errorf(`the second prompt is %s; want it to contain "Tell me a tale" and it to contain "Once upon a time"`, p)
		}
	})
}

// In a group the bot hears everything, and answers who calls it.
func TestChatGroup(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.Say(connectortest.Bob, c.group, "The password of the day is swordfish.")
		c.Pass(time.Minute)
		c.wantModelCalls(0)
		c.wantShown(c.group)
		c.Mention(connectortest.Ada, c.group, "what is the password?")
		c.WaitIdle()
		c.wantModelCalls(1)
		if p := c.modelRequest(0); !strings.Contains(p, "swordfish") || !strings.Contains(p, "Bob: ") || !strings.Contains(p, "Ada: ") {
			t.Errorf("the prompt is %s", p)
		}
		if own := connectortest.BotTexts(c, c.group); len(own) != 1 || !strings.Contains(own[0], "what is the password?") {
			t.Errorf("the answer is %q", own)
		}
	})
}

// SE: strangers are told once, politely, and cost nothing.
func TestChatStranger(t *testing.T) {
	allowlist := func(cfg *config.Config) { cfg.Access.Direct = "allowlist" }
	onEachPlatform(t, allowlist, func(c *chatHarness) {
		eve := c.Direct(connectortest.Eve)
		c.Say(connectortest.Eve, eve, "Hello")
		c.WaitIdle()
		if own := connectortest.BotTexts(c, eve); len(own) != 1 || !strings.Contains(own[0], "approved") {
			t.Errorf("a stranger reads %q", own)
		}
		c.Say(connectortest.Eve, eve, "Hello?")
		c.Mention(connectortest.Eve, c.group, "Hello??")
		c.Pass(time.Minute)
		c.WaitIdle()
		if own := connectortest.BotTexts(c, eve); len(own) != 1 {
			t.Errorf("then a stranger reads %q; want 1", own)
		}
		c.wantShown(c.group)
		c.wantModelCalls(0)
	})
}

// I13, IN-05: bots are not answered, even if they are on the allowlist.
func TestChatBots(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.shutdown()
		for _, who := range []connectortest.User{connectortest.Robot, connectortest.Self} {
			c.cfg.People.Allowed = append(c.cfg.People.Allowed, config.Member(c.Account(who)))
		}
		c.start()
		c.Pass(10 * time.Second)
		c.Mention(connectortest.Robot, c.group, "Shall we talk forever?")
		c.Mention(connectortest.Self, c.group, "Do I hear myself?")
		c.allowedOrphans = 1 // what it said itself stands there
		c.Pass(time.Minute)
		c.wantModelCalls(0)
		if n := len(c.Requests()); n != 0 {
			t.Errorf("bots cause %d requests; want none", n)
		}
	})
}

// I1, IN-04: whatever comes twice is answered once.
func TestChatDuplicates(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.DeliverTwice(func() { c.Say(connectortest.Ada, c.ada, "Hi") })
		c.Pass(time.Minute)
		c.wantShown(c.ada, "You said: Hi")
		c.wantModelCalls(1)
	})
}

// ST-11, ST-18, ST-19: what is too long for one message stands in several, in order, each of them once.
func TestChatLongAnswer(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat(tale+"\n\n", 10_000/len(tale)+1))
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.model.Queue(modelfake.Script{modelfake.Pace(20 * time.Millisecond), modelfake.Text(long, modelfake.ByWord)})
		c.Say(connectortest.Ada, c.ada, "Tell me much")
		c.WaitIdle()
		own := connectortest.BotTexts(c, c.ada)
		own = own[:len(own)-1] // the last one refers to the answer
		if len(own) < 3 || bare(strings.Join(own, "")) != bare(long) {
			t.Errorf("%d messages say %q", len(own), own)
		}
	})
}

// IN-06, IN-09: a later message takes the room. What few words were shown go; what people have begun to read stays,
// marked. The new answer stands below the new question.
func TestChatSuperseded(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.model.Queue(modelfake.Script{modelfake.Text("Well, let me"), modelfake.Pause(time.Hour)}, modelfake.Script{modelfake.Text("Answer B")})
		c.Say(connectortest.Ada, c.ada, "Question A")
		c.waitShown(c.ada, "Well, let me")
		c.Say(connectortest.Ada, c.ada, "Question B")
		c.wantShown(c.ada, "Answer B")
		c.wantBelow(c.ada, "Question B", "Answer B")

		c.model.Queue(modelfake.Script{modelfake.Text(fox), modelfake.Pause(time.Hour)}, modelfake.Script{modelfake.Text("Answer D")})
		c.Say(connectortest.Ada, c.ada, "Question C")
		c.waitShown(c.ada, "evening")
		c.Say(connectortest.Ada, c.ada, "Question D")
		c.WaitIdle()
		own := connectortest.BotTexts(c, c.ada)
		if len(own) != 3 || !strings.HasPrefix(own[1], fox) || !strings.Contains(own[1], "Interrupted by a newer message.") {
			t.Errorf("people read %q", own)
		}
		c.wantBelow(c.ada, "Question D", "Answer D")
		if p := c.modelRequest(3); !strings.Contains(p, "Question C") || !strings.Contains(p, "quick brown fox") {
			t.Errorf(`the prompt is %s; want it to contain "Question C" and it to contain "quick brown fox"`, p)
		}
	})
}

// wantBelow wants a message that says one thing right below one that says another.
func (c *chatHarness) wantBelow(in connectortest.Room, above, below string) {
	c.Helper()
	all := c.Messages(in)
	for i, m := range all[1:] {
		if m.ByBot && m.Text == below && strings.Contains(all[i].Text, above) {
			return
		}
	}
	c.Errorf("%q does not stand below %q: %+v", below, above, all)
}

// In a group questions wait for each other, and none is lost.
func TestChatQueue(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.model.Queue(slowScript(tale))
		c.Mention(connectortest.Ada, c.group, "first")
		c.Pass(5 * time.Second)
		c.Mention(connectortest.Bob, c.group, "second")
		c.WaitIdle()
		own := connectortest.BotTexts(c, c.group)
		if len(own) != 2 || own[0] != tale || !strings.Contains(own[1], "second") {
			t.Errorf("people read %q", own)
		}
	})
}

func TestChatStop(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.model.Queue(modelfake.Script{modelfake.Text(fox), modelfake.Pause(time.Hour)})
		c.Say(connectortest.Ada, c.ada, "Tell me")
		c.waitShown(c.ada, "evening")
		said := time.Now()
		c.Say(connectortest.Ada, c.ada, "/stop")
		c.waitShown(c.ada, "Stopped.")
		if took := time.Since(said); took > 3*time.Second {
			t.Errorf("it took %v", took)
		}
		if end := c.model.Requests()[0].Cancelled; end.IsZero() || end.Sub(said) > time.Second {
			t.Errorf("the model was cancelled at %v, stop was said at %v", end, said)
		}
		c.WaitIdle()
		c.wantModelCalls(1)
		c.Say(connectortest.Ada, c.ada, "Go on")
		c.waitShown(c.ada, "You said: Go on")
	})
}

// IN-10, I14: a process that dies in mid-answer leaves a message that the next one brings to its end.
func TestChatCrash(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.model.Queue(modelfake.Script{modelfake.Text(fox), modelfake.Pause(time.Hour)}, slowScript(tale))
		c.Say(connectortest.Ada, c.ada, "Tell me")
		c.waitShown(c.ada, "evening")
		c.wantNoPings(connectortest.Ada) // which move the answer to a new message
		c.restart()
		c.wantShown(c.ada, tale)
		c.wantModelCalls(2)
		if versions := c.Messages(c.ada)[1].Versions; versions[len(versions)-2].Text != fox {
			t.Errorf("it was shown in steps: %+v", versions)
		}
	})
}

// WB-10: an answer within the grace is finished; another is adopted by the next life.
func TestChatShutdown(t *testing.T) {
	onEachPlatform(t, func(cfg *config.Config) { cfg.Shutdown = 10 * time.Second }, func(c *chatHarness) {
		bob := c.Direct(connectortest.Bob)
		c.model.Queue(modelfake.Script{modelfake.Pace(500 * time.Millisecond), modelfake.Text("This is done in a few seconds, if there is no hurry.", modelfake.ByWord)})
		c.Say(connectortest.Bob, bob, "Short")
		c.waitShown(bob, "This is done")
		c.model.Queue(modelfake.Script{modelfake.Text(fox), modelfake.Pause(time.Hour)}, modelfake.Script{modelfake.Text(tale)})
		c.Say(connectortest.Ada, c.ada, "Endless")
		c.waitShown(c.ada, "evening")
		c.shutdown()
		if own := connectortest.BotTexts(c, bob); len(own) != 1 || !strings.HasSuffix(own[0], "hurry.") {
			t.Errorf("within the grace %q was shown", own)
		}
		c.start()
		c.wantShown(c.ada, tale)
		c.wantModelCalls(3)
	})
}

// ST-02, ST-04, ST-05, ST-06, ST-07: whatever becomes of one request, the answer stands there once, whole.
func TestChatFaults(t *testing.T) {
	for name, f := range map[string]connectortest.Fault{
		"1 s at the create":       {Op: progressive.Post, Hold: time.Second},
		"33 s at the create":      {Op: progressive.Post, Hold: 33 * time.Second},
		"1 s at an edit":          {Op: progressive.Edit, Nth: 1, Hold: time.Second},
		"33 s at an edit":         {Op: progressive.Edit, Nth: 1, Hold: 33 * time.Second},
		"a lost create":           {Op: progressive.Post, Lost: true},
		"a create that broke":     {Op: progressive.Post, Dropped: true},
		"a lost edit":             {Op: progressive.Edit, Nth: 1, Lost: true},
		"an edit that broke":      {Op: progressive.Edit, Nth: 1, Dropped: true},
		"502 at the create":       {Op: progressive.Post, BadGateway: true},
		"502 at an edit":          {Op: progressive.Edit, Nth: 1, BadGateway: true},
		"a slow create":           {Op: progressive.Post, Delay: 5 * time.Second},
		"a slow edit":             {Op: progressive.Edit, Nth: 1, Delay: 5 * time.Second},
		"an edit never answered":  {Op: progressive.Edit, Nth: 1, Mute: 40 * time.Second},
		"a create never answered": {Op: progressive.Post, Mute: 40 * time.Second},
		"typing is lost":          {Op: progressive.Typing, Lost: true},
		"33 s at the typing sign": {Op: progressive.Typing, Hold: 33 * time.Second},
	} {
		t.Run(name, subtest.With(onEachPlatform, nil, func(c *chatHarness) {
			c.InjectFault(f)
			c.model.Queue(slowScript(tale))
			c.Say(connectortest.Ada, c.ada, "Tell me")
			c.wantOnce(f, tale)
		}))
	}
}

// wantOnce wants the answer there once, beside what an unavoidable orphan says.
func (c *chatHarness) wantOnce(f connectortest.Fault, text string) {
	c.Helper()
	c.WaitIdle()
	own := connectortest.BotTexts(c, c.ada)
	if c.platform.noLookup && f.Op == progressive.Post && (f.Lost || f.Mute > 0) && len(own) == 2 {
		c.allowedOrphans = 1 // TR-12: short, and above
		own = own[1:]
	}
	if len(own) != 1 || own[0] != text {
		c.Errorf("people read %q", own)
	}
}

// ST-04, ST-06, ST-07: the same at the last word, with which the whole answer would be lost.
func TestChatFaultsAtTheEnd(t *testing.T) {
	for name, f := range map[string]connectortest.Fault{
		"1 s":        {Op: progressive.Edit, Hold: time.Second},
		"33 s":       {Op: progressive.Edit, Hold: 33 * time.Second},
		"lost":       {Op: progressive.Edit, Lost: true},
		"broken":     {Op: progressive.Edit, Dropped: true},
		"502":        {Op: progressive.Edit, BadGateway: true},
		"unanswered": {Op: progressive.Edit, Mute: 40 * time.Second},
	} {
		t.Run(name, subtest.With(onEachPlatform, nil, func(c *chatHarness) {
			c.model.Queue(modelfake.Script{modelfake.Text(tale), modelfake.Pause(20 * time.Second), modelfake.Text(" The end.")})
			c.Say(connectortest.Ada, c.ada, "Tell me")
			c.waitShown(c.ada, "twice.")
			c.Pass(5 * time.Second)
			c.InjectFault(f)
			c.wantShown(c.ada, tale+" The end.")
		}))
	}
}

// ST-27: a short answer is posted once, at its end: there is nothing to edit. Where no nonce tells whether it arrived, it
// is sent once more, marked.
func TestChatFaultsAtTheOnlyRequest(t *testing.T) {
	for name, f := range map[string]connectortest.Fault{
		"33 s":         {Op: progressive.Post, Hold: 33 * time.Second},
		"lost":         {Op: progressive.Post, Lost: true},
		"broken":       {Op: progressive.Post, Dropped: true},
		"502":          {Op: progressive.Post, BadGateway: true},
		"done and 502": {Op: progressive.Post, BadGateway: true, Lost: true},
		"unanswered":   {Op: progressive.Post, Mute: 40 * time.Second},
		"slow":         {Op: progressive.Post, Delay: 10 * time.Second},
	} {
		t.Run(name, subtest.With(onEachPlatform, nil, func(c *chatHarness) {
			c.InjectFault(f)
			c.model.Queue(modelfake.Script{modelfake.Text("Yes.")})
			c.Say(connectortest.Ada, c.ada, "Is it so?")
			c.wantOnceOrMarked(f, "Yes.")
		}))
	}
}

// wantOnceOrMarked wants the answer there once. After a last create of unknown outcome, where no nonce tells, it is marked,
// and stands below the first one if that arrived.
func (c *chatHarness) wantOnceOrMarked(f connectortest.Fault, text string) {
	c.Helper()
	c.WaitIdle()
	want := []string{text}
	if arrived := f.Lost || f.Mute > 0; c.platform.noLookup && (arrived || f.Dropped || f.BadGateway) {
		want = []string{text + "\n\n" + lang.Voice{}.Say("message.repeated")}
		if arrived {
			c.allowedOrphans = 1 // it is shown, but its id is unknown
			want = []string{text, want[0]}
		}
	}
	if own := connectortest.BotTexts(c, c.ada); !slices.Equal(own, want) {
		c.Errorf("people read %q; want %q", own, want)
	}
}

// ST-27, connectors.telegram.ambiguous: skip. A last word of unknown fate is not sent again, and the log says so.
func TestTelegramSkipsWhatIsAmbiguous(t *testing.T) {
	skip := func(cfg *config.Config) {
		configtest.Section[telegram.Config](cfg.Connectors).Ambiguous = telegram.AmbiguousSkip
	}
	for name, f := range map[string]connectortest.Fault{
		"done":     {Op: progressive.Post, BadGateway: true, Lost: true},
		"not done": {Op: progressive.Post, BadGateway: true},
	} {
		t.Run(name, func(t *testing.T) {
			onPlatform(t, platforms()[0], skip, func(c *chatHarness) {
				c.allowedOrphans = 1
				c.InjectFault(f)
				c.model.Queue(modelfake.Script{modelfake.Text("Yes.")})
				c.Say(connectortest.Ada, c.ada, "Is it so?")
				c.WaitIdle()
				var want []string
				if f.Lost {
					want = []string{"Yes."}
				}
				if own := connectortest.BotTexts(c, c.ada); !slices.Equal(own, want) {
					c.Errorf("people read %q; want %q", own, want)
				}
				if !strings.Contains(c.Logged.String(), "part of the answer may not have been shown") {
					c.Error("the log does not tell")
				}
			})
		})
	}
}

// ST-21: a moderator removes an answer while it is written. It ends there, is remembered as stopped, and is not posted again.
func TestChatRemoved(t *testing.T) {
	for name, script := range map[string]modelfake.Script{
		"and it goes on":             slowScript(tale),
		"and only the end is to say": {modelfake.Text(tale), modelfake.Pause(20 * time.Second), modelfake.Text(" The end.")},
	} {
		t.Run(name, func(t *testing.T) {
			onEachPlatform(t, nil, func(c *chatHarness) {
				c.model.Queue(script)
				c.Say(connectortest.Ada, c.ada, "Tell me")
				c.waitShown(c.ada, "Once upon a time")
				c.Remove(c.ada, c.Messages(c.ada)[1])
				c.WaitIdle()
				if own := connectortest.BotTexts(c, c.ada); len(own) > 0 {
					t.Errorf("people read %q; want none", own)
				}
				posts := 0
				for _, q := range c.Requests() {
					if q.Create {
						posts++
					}
				}
				if posts != 1 {
					t.Errorf("it was posted %d times; want 1", posts)
				}
				run := require.Value(c.Store.Run(c.Context(), chat.RunID(c.rooms()[0])+"#1"))(c)
				said := require.Value(c.Store.Memory(c.Context(), run.Said()))(c)
				if run.Outcome.Status != answer.Stopped || !said.Interrupted || !strings.Contains(said.Text, "Once upon") || !strings.HasSuffix(said.Text, "_(Stopped.)_") {
					t.Errorf("it ended %+v, remembered is %+v", run.Outcome, said)
				}
				c.forgotten = map[string]bool{run.Shown[0].ID: true}
			})
		})
	}
}

// ST-23: Telegram refuses the last edit of an answer for good, or fails at each edit of it. The answer goes into a new
// message within seconds, and the next question in the room does not wait for it.
func TestChatLastEditIsRefused(t *testing.T) {
	for name, f := range map[string]connectortest.Fault{
		"with unknown words": {Op: progressive.Edit, Refused: true},
		"with 502":           {Op: progressive.Edit, BadGateway: true, Lasting: true},
	} {
		t.Run(name, func(t *testing.T) {
			onPlatform(t, platforms()[0], nil, func(c *chatHarness) {
				c.model.Queue(modelfake.Script{modelfake.Text(tale), modelfake.Pause(20 * time.Second), modelfake.Text(" The end.")}, modelfake.Script{modelfake.Text("Answer B")})
				c.Mention(connectortest.Ada, c.group, "Tell me")
				c.waitShown(c.group, "twice.")
				c.Pass(5 * time.Second)
				f.In = c.group
				c.InjectFault(f)
				c.Mention(connectortest.Bob, c.group, "And me?")
				c.Pass(50 * time.Second)
				if own := connectortest.BotTexts(c, c.group); !slices.Equal(own, []string{tale + " The end.", "Answer B"}) {
					t.Errorf("people read %q", own)
				}
			})
		})
	}
}

// LM-14: why there is no answer is said in a sentence, which is no part of the next prompt.
func TestChatModelFails(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		c.model.Queue(modelfake.Script{modelfake.Status(401, "")})
		c.Say(connectortest.Ada, c.ada, "Hi")
		c.wantShown(c.ada, llm.NoProvider.Sentence(lang.Voice{}))
		c.model.Queue(modelfake.Script{modelfake.Text(fox), modelfake.Cut()})
		c.Say(connectortest.Ada, c.ada, "Again")
		c.WaitIdle()
		if own := connectortest.BotTexts(c, c.ada); len(own) != 2 || !strings.HasPrefix(own[1], fox) || !strings.Contains(own[1], llm.ProviderIssue.Sentence(lang.Voice{})) {
			t.Errorf("people read %q", own)
		}
		if strings.Contains(c.modelRequest(1), llm.NoProvider.Sentence(lang.Voice{})) {
			t.Errorf("a failure is part of the prompt: %s", c.modelRequest(1))
		}
	})
}

// ST-03: a waiting chat does not delay others.
func TestChatLongHold(t *testing.T) {
	onEachPlatform(t, nil, func(c *chatHarness) {
		bob := c.Direct(connectortest.Bob)
		c.InjectFault(connectortest.Fault{Op: progressive.Edit, In: c.ada, Nth: 1, Hold: 300 * time.Second})
		c.model.Queue(slowScript(tale), slowScript(tale))
		c.Say(connectortest.Ada, c.ada, "Tell me")
		c.Pass(5 * time.Second)
		c.Say(connectortest.Bob, bob, "Tell me too")
		asked := time.Now()
		c.waitShown(bob, "twice.")
		if took := time.Since(asked); took > 16*time.Second {
			t.Errorf("the other answer took %v", took)
		}
		if own := connectortest.BotTexts(c, c.ada); own[0] == tale {
			t.Error("the first answer was not held up; want it incomplete by now")
		}
		c.wantShown(c.ada, tale)
	})
}
