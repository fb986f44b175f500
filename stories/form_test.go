package stories_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/internal/require"
	"parley/models/modelfake"
)

// asForm lets the model answer with tags around the parts.
func asForm(cfg *config.Config) {
	withMusic(cfg)
	cfg.Agent.Generation = config.GenerateXML
}

// playFormScript is what plays says, in the form, with a hidden plan; in pieces that break tags.
func playFormScript(title string) []modelfake.Script {
	pieces := func(text string) modelfake.Step { return modelfake.Text(text, modelfake.ByBytes(3)) }
	return []modelfake.Script{
		{modelfake.Pace(50 * time.Millisecond), pieces("<think>a secret</think>\n```xml\n<response>\n<thought>a secret plan</thought>\n<actions>REPLY,\n" +
			`<action name="PLAY_MUSIC"><params>{"title":"` + title + `"}</params></action></actions>` +
			"\n<providers></providers>\n<text>" + letMe + "</text>\n</response>\n```")},
		{modelfake.Pace(50 * time.Millisecond), pieces("<response><thought>a secret plan</thought><text>" + enjoy + "</text></response>")},
	}
}

// noTags fails where text holds something that is not for people.
func noTags(t *testing.T, where, text string) {
	t.Helper()
	for _, tag := range []string{"<", "&lt;", "\\u003c", "secret", "REPLY", "```"} {
		if strings.Contains(text, tag) {
			t.Errorf("%s shows %q: %s", where, tag, text)
		}
	}
}

// LM-10, LM-11: the answer is the same as with calls of tools, and tags and thoughts are never shown.
func TestFormInChat(t *testing.T) {
	onEachPlatform(t, asForm, func(c *chatHarness) {
		c.serveMusic()
		c.model.Queue(playFormScript("so what")...)
		c.Say(connectortest.Ada, c.ada, "Play something")
		c.waitShown(c.ada, "Enjoy")
		c.WaitIdle()
		lines := c.Messages(c.ada)
		m := lines[len(lines)-1]
		seen := steps(m)
		if got := seen[len(seen)-1]; got != paragraphs(letMe, playing, enjoy) {
			t.Errorf("people read %q", got)
		}
		if len(seen) < 3 {
			t.Errorf("it does not grow: %q", seen)
		}
		for _, text := range seen {
			noTags(t, "an edit", text)
		}
	})
}

func TestFormOnThePage(t *testing.T) {
	withGateway(t, asForm, func(s *harness) {
		s.serveMusic()
		s.model.Queue(playFormScript("so what")...)
		id := s.newConversation()
		stream := s.send(id, "k1", "Play something")
		frames := require.Value(stream.All())(s)
		for _, f := range frames {
			noTags(t, "a frame", f.Raw)
		}
		last := frames[len(frames)-1]
		if got := *last.FullText; got != strings.Join([]string{letMe, playing, enjoy}, "\n\n") {
			t.Errorf("the page shows %q", got)
		}
		lines := s.lines(id)
		noTags(t, "the page loaded again", fmt.Sprintf("%+v", lines))
	})
}

// A model that has nothing to say says nothing, also in private.
func TestFormIgnoresInChat(t *testing.T) {
	onEachPlatform(t, asForm, func(c *chatHarness) {
		c.model.Queue(modelfake.Script{modelfake.Text("<response><thought>a secret</thought><actions>IGNORE</actions><text></text></response>", modelfake.ByBytes(5))})
		c.Say(connectortest.Ada, c.ada, "Thanks!")
		c.Pass(time.Minute)
		c.wantShown(c.ada)
	})
}

// Steps are decided unseen; the answer comes at last.
func TestMultiStepInChat(t *testing.T) {
	edit := func(cfg *config.Config) {
		asForm(cfg)
		cfg.Agent.Generation, cfg.Agent.MaxSteps = config.GenerateSteps, 4
	}
	onEachPlatform(t, edit, func(c *chatHarness) {
		c.serveMusic()
		c.model.Queue(
			modelfake.Script{modelfake.Text(`<response><thought>a secret</thought><action>PLAY_MUSIC</action><parameters>{"title":"so what"}</parameters><isFinish>false</isFinish></response>`, modelfake.ByBytes(9))},
			modelfake.Script{modelfake.Text("<response><thought>a secret</thought><isFinish>true</isFinish></response>")},
			modelfake.Script{modelfake.Text("<response><thought>a secret</thought><text>"+enjoy+"</text></response>", modelfake.ByBytes(2))})
		c.Say(connectortest.Ada, c.ada, "Play something")
		c.waitShown(c.ada, "Enjoy")
		c.WaitIdle()
		lines := c.Messages(c.ada)
		for _, text := range steps(lines[len(lines)-1]) {
			noTags(t, "an edit", text)
		}
		if requests := c.model.Requests(); len(requests) != 3 || !strings.Contains(requests[1].LastUser(), "is now playing") {
			t.Errorf("the model was asked %d times", len(requests))
		}
	})
}
