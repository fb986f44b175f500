package stories_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/config/configtest"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/discord"
	"parley/connectors/telegram"
	"parley/internal/subtest"
	"parley/models/modelfake"
	"parley/progressive"
)

// codeIn says where long code goes.
func codeIn(where progressive.LongCode) func(*config.Config) {
	return func(cfg *config.Config) {
		configtest.Section[discord.Config](cfg.Connectors).LongCode, configtest.Section[telegram.Config](cfg.Connectors).LongCode = where, where
	}
}

// program is code of n lines.
func program(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "step %d: carry the numbers over to the next column, and go on until none is left\n", i)
	}
	return b.String()
}

// answerWithCode is what a model writes.
func answerWithCode(n int) string {
	return "Here it is:\n\n```\n" + program(n) + "```\n\nRun it twice."
}

// codeFiles are the files with code in a place, in order.
func (c *chatHarness) codeFiles(in connectortest.Room) (all []string) {
	for _, m := range c.Messages(in) {
		for _, f := range m.Files {
			all = append(all, string(f.Data))
			if f.Name != "code.txt" || !strings.HasPrefix(f.Type, "text/plain") {
				c.Errorf(`the file is %s of type %s; want "code.txt" and it to begin with "text/plain"`, f.Name, f.Type)
			}
		}
	}
	return all
}

// wantCode wants the code of n lines in one file below the answer.
func (c *chatHarness) wantCode(in connectortest.Room, n int) {
	c.Helper()
	c.WaitIdle()
	var texts []string
	all := slices.DeleteFunc(c.Messages(in), func(m connectortest.Message) bool { return strings.HasSuffix(m.Text, pointerMark) })
	for _, m := range all {
		if m.ByBot && m.Text != "" {
			texts = append(texts, m.Text)
		}
	}
	if got := strings.Join(texts, "|"); bare(got) != bare(fmt.Sprintf("Here it is: 📎 code.txt, %d lines Run it twice.", n)) {
		c.Errorf("people read %.300q", got)
	}
	if files := c.codeFiles(in); len(files) != 1 || files[0] != program(n) || len(all[len(all)-1].Files) != 1 {
		c.Errorf("there are %d files below the answer", len(files))
	}
}

// wantInMessages wants it in messages, and files beside.
func (c *chatHarness) wantInMessages(in connectortest.Room, n, files int) {
	c.Helper()
	c.WaitIdle()
	if got := bare(strings.Join(connectortest.BotTexts(c, in), "")); got != bare(answerWithCode(n)) {
		c.Errorf("people read %.300q…", got)
	}
	if got := len(c.codeFiles(in)); got != files {
		c.Errorf("there are %d files; want %d", got, files)
	}
}

// ST-11, ST-18: by policy, code of many messages is a file below the answer; its beginning is read while it is written, in one
// message, and how long it is.
func TestChatLongCode(t *testing.T) {
	onEachPlatform(t, codeIn(progressive.InFile), func(c *chatHarness) {
		for _, in := range []connectortest.Room{c.ada, c.group} {
			c.model.Queue(modelfake.Script{modelfake.Pace(10 * time.Millisecond), modelfake.Text(answerWithCode(200), modelfake.ByWord), modelfake.Pause(time.Minute)})
			c.Mention(connectortest.Ada, in, "Write it")
			c.waitShown(in, "📎")
			if own := connectortest.BotTexts(c, in); len(own) != 1 || len(c.codeFiles(in)) != 0 || !strings.Contains(own[0], "step 0:") {
				t.Errorf("before the end %d messages are read: %q", len(own), own)
			}
			c.wantCode(in, 200)
		}
	})
}

// ST-19, ST-20: below, at and above the limit, no message appears that is deleted later: whether code becomes a file is known
// before there is a second message of it.
func TestChatLongCodeDeletesNothing(t *testing.T) {
	for _, above := range []int{1, 15} { // lines of 80 characters
		for _, lines := range []int{20, 48, 52, 97, 104, 250} {
			t.Run(fmt.Sprintf("%d lines below %d", lines, above), subtest.With(onEachPlatform, codeIn(progressive.InFile), func(c *chatHarness) {
				c.model.Queue(modelfake.Script{modelfake.Pace(20 * time.Millisecond), modelfake.Text(strings.Repeat(program(1)+"\n", above)+answerWithCode(lines), modelfake.ByWord)})
				c.Say(connectortest.Ada, c.ada, "Write it")
				c.WaitIdle()
				stand := map[string]bool{}
				for _, m := range c.Messages(c.ada) {
					stand[m.ID] = true
				}
				for _, r := range c.Requests() {
					if r.Create && !stand[r.Message] {
						c.Errorf("message %s was created and deleted", r.Message)
					}
				}
			}))
		}
	}
}

// What is asked for by default, and code of two messages, stands in messages.
func TestChatLongCodeInMessages(t *testing.T) {
	for name, play := range map[string]struct {
		where progressive.LongCode
		lines int
	}{"by default": {"", 200}, "not long enough": {progressive.InFile, 30}} {
		t.Run(name, func(t *testing.T) {
			edit := codeIn(play.where)
			if play.where == "" {
				edit = nil
			}
			onEachPlatform(t, edit, func(c *chatHarness) {
				c.model.Queue(modelfake.Script{modelfake.Text(answerWithCode(play.lines))})
				c.Say(connectortest.Ada, c.ada, "Write it")
				c.wantInMessages(c.ada, play.lines, 0)
			})
		})
	}
}

// TR-11, TR-12: whatever becomes of the file, nothing of the code is lost.
func TestChatLongCodeFaults(t *testing.T) {
	for name, f := range map[string]connectortest.Fault{
		"33 s":        {Hold: 33 * time.Second},
		"502":         {BadGateway: true},
		"no right":    {Forbidden: true},
		"lost":        {Lost: true},
		"not done":    {Dropped: true},
		"no answer":   {Mute: 2 * time.Minute},
		"a slow file": {Delay: 5 * time.Second},
	} {
		t.Run(name, subtest.With(onEachPlatform, codeIn(progressive.InFile), func(c *chatHarness) {
			c.model.Queue(modelfake.Script{modelfake.Text(answerWithCode(200)), modelfake.Pause(30 * time.Second)})
			c.Say(connectortest.Ada, c.ada, "Write it")
			c.waitShown(c.ada, "Run it twice.")
			f.Op, f.File, f.In = progressive.Post, true, c.ada
			c.InjectFault(f)
			c.WaitIdle()
			switch unknown := c.platform.noLookup; { // without nonces
			case f.Forbidden, unknown && (f.Dropped || f.BadGateway):
				c.wantInMessages(c.ada, 200, 0)
			case unknown && (f.Lost || f.Mute > 0):
				c.allowedOrphans = 1
				c.wantInMessages(c.ada, 200, 1)
			default:
				c.wantCode(c.ada, 200)
			}
		}))
	}
}

// ST-18: a rewritten answer has its own file, and removes the old one's.
func TestChatLongCodeAnew(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		c.shutdown()
		codeIn(progressive.InFile)(&c.cfg)
		c.start()
		c.Pass(10 * time.Second)
		c.model.Queue(modelfake.Script{modelfake.Text(answerWithCode(200))}, modelfake.Script{modelfake.Text(answerWithCode(150))}, modelfake.Script{modelfake.Text("It is short now.")})
		c.Say(connectortest.Ada, c.ada, "Write it")
		c.wantCode(c.ada, 200)
		question := c.Messages(c.ada)[0].ID
		w.Fake.UserEdit(question, "Write it shorter")
		c.Pass(time.Minute)
		c.wantCode(c.ada, 150)
		w.Fake.UserEdit(question, "Write it as short as it can be")
		c.Pass(time.Minute)
		c.wantShown(c.ada, "It is short now.")
		if n := len(c.codeFiles(c.ada)); n != 0 {
			t.Errorf("%d files are left; want none", n)
		}
	})
}

// I6: a process that dies before it has posted the file leaves that to the next one.
func TestChatLongCodeAfterCrash(t *testing.T) {
	onEachPlatform(t, codeIn(progressive.InFile), func(c *chatHarness) {
		c.model.Queue(modelfake.Script{modelfake.Text(answerWithCode(200)), modelfake.Pause(30 * time.Second)})
		c.Say(connectortest.Ada, c.ada, "Write it")
		c.waitShown(c.ada, "Run it twice.")
		c.InjectFault(connectortest.Fault{Op: progressive.Edit, In: c.ada, Hold: 2 * time.Minute})
		c.Pass(time.Minute)
		c.restart()
		c.Pass(10 * time.Minute)
		c.wantCode(c.ada, 200)
		c.wantModelCalls(1)
	})
}
