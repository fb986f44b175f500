package stories_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/config"
	"parley/config/configtest"
	"parley/connectors/connectortest"
	"parley/connectors/discord"
	"parley/connectors/telegram"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/progressive"
)

const (
	which     = "❓ Which one?"
	noChoice  = "⚠️ No track was chosen: “blue monk”, “blue train”. Ask again with more of the title."
	train     = "🎵 Now playing: **blue train**"
	trainFile = "📎 blue_train.mp3: the sound of blue train"
	choices   = "[blue monk] [blue train]"
)

// withAlbum lets the agent play two tracks of a folder whose titles share a word.
func withAlbum(t *testing.T) func(*config.Config) {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"blue_monk", "blue_train"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name+".mp3"), []byte("the sound of "+strings.ReplaceAll(name, "_", " ")), 0o600))
	}
	return func(cfg *config.Config) {
		cfg.Plugins.Player.Folder = folder
		configtest.Section[discord.Config](cfg.Connectors).Progress, configtest.Section[telegram.Config](cfg.Connectors).Progress = progressive.Off, progressive.Off
	}
}

// askWhichTrack is a chat in which Ada has asked for a track by a word that two titles share, and is asked which one.
func (c *chatHarness) askWhichTrack(in connectortest.Room, then ...modelfake.Script) buttonPlatform {
	c.Helper()
	c.model.Queue(append(playScript("blue")[:1], then...)...)
	c.sendIn(in, "Play something blue")
	c.waitShown(in, which)
	c.Pass(time.Minute)
	c.wantMessages(in, paragraphs(letMe, which), choices)
	return c.Platform.(buttonPlatform)
}

// sendIn has Ada say something to the agent.
func (c *chatHarness) sendIn(in connectortest.Room, text string) {
	if in == c.group {
		c.Mention(connectortest.Ada, in, text)
	} else {
		c.Say(connectortest.Ada, in, text)
	}
}

// wantMessages wants the agent's messages in a room to stand so: their texts, each with its files, and at last all buttons.
func (c *chatHarness) wantMessages(in connectortest.Room, want ...string) {
	c.Helper()
	var got []string
	for _, m := range c.Messages(in) {
		if !m.ByBot {
			continue
		}
		if m.Text != "" {
			got = append(got, strings.NewReplacer("*", "", "_", "").Replace(m.Text))
		}
		for _, f := range m.Files {
			got = append(got, "📎 "+f.Name+": "+string(f.Data))
		}
	}
	if buttons := c.Platform.(buttonPlatform).Buttons(in); len(buttons) > 0 {
		got = append(got, "["+strings.Join(buttons, "] [")+"]")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		c.Errorf("people see (-want +got):\n%s", diff)
	}
}

// ST-16: an action asks in the middle of an answer, under the message that grows. What is chosen, by a button or in writing,
// has the same message go on, without buttons, and with the file below.
func TestWhichTrack(t *testing.T) {
	for name, choose := range map[string]func(c *chatHarness, w buttonPlatform, in connectortest.Room){
		"a button": func(_ *chatHarness, w buttonPlatform, in connectortest.Room) { w.Press(connectortest.Ada, in, 1) },
		"a number": func(c *chatHarness, _ buttonPlatform, in connectortest.Room) { c.sendIn(in, "2") },
		"a title":  func(c *chatHarness, _ buttonPlatform, in connectortest.Room) { c.sendIn(in, "Blue Train") },
	} {
		t.Run(name, func(t *testing.T) {
			for _, in := range []string{"direct", "group"} {
				t.Run(in, func(t *testing.T) {
					onEachPlatform(t, withAlbum(t), func(c *chatHarness) {
						at := map[string]connectortest.Room{"direct": c.ada, "group": c.group}[in]
						w := c.askWhichTrack(at, modelfake.Script{modelfake.Pause(30 * time.Second), modelfake.Text(enjoy)})
						choose(c, w, at)
						c.Pass(10 * time.Second) // two edits may be needed, and groups have one in 3.5 seconds
						c.wantMessages(at, paragraphs(letMe, train), trainFile)
						c.Pass(time.Minute)
						c.wantMessages(at, paragraphs(letMe, train, enjoy), trainFile)
						c.wantModelCalls(2)
						if p := c.modelRequest(1); !strings.Contains(p, `\"blue train\" is now playing`) {
							t.Errorf("the model was told %s", p)
						}
						own := slices.DeleteFunc(c.Messages(at), func(m connectortest.Message) bool { return !m.ByBot })
						want := []string{letMe, paragraphs(letMe, which), paragraphs(letMe, train), paragraphs(letMe, train, enjoy)}
						if diff := cmp.Diff(want, slices.DeleteFunc(steps(own[0]), func(s string) bool { return !slices.Contains(want, s) })); diff != "" {
							t.Errorf("the steps of the message: %s; want none", diff)
						}
					})
				})
			}
		})
	}
}

// SE-07: only the asking user can choose.
func TestWhichTrackIsForWhoAsked(t *testing.T) {
	onEachPlatform(t, withAlbum(t), func(c *chatHarness) {
		w := c.askWhichTrack(c.group, playScript("blue")[1])
		for _, other := range []connectortest.User{connectortest.Bob, connectortest.Eve} {
			w.Press(other, c.group, 0)
			c.Pass(time.Second)
		}
		if told := w.Told(); !slices.Equal(told, []string{"This choice is not yours to make.", "This choice is not yours to make."}) {
			t.Errorf("the others are told %q", told)
		}
		c.wantMessages(c.group, paragraphs(letMe, which), choices)
		w.Press(connectortest.Ada, c.group, 1)
		c.WaitIdle()
		c.wantMessages(c.group, paragraphs(letMe, train, enjoy), trainFile)
	})
}

// However the wait ends, there are no buttons afterwards, and nothing can be chosen.
func TestWhichTrackInVain(t *testing.T) {
	for name, c := range map[string]struct {
		then []modelfake.Script
		do   func(c *chatHarness)
		want []string
	}{
		"stopped": {nil, func(c *chatHarness) { c.Say(connectortest.Ada, c.ada, "/stop") }, []string{paragraphs(letMe, which, "(Stopped.)")}},
		"superseded": {nil, func(c *chatHarness) { c.Say(connectortest.Ada, c.ada, "Never mind") },
			[]string{paragraphs(letMe, which, "(Interrupted by a newer message.)"), "You said: Never mind"}},
		"no choice":        {playScript("")[1:], func(c *chatHarness) { c.Pass(4 * time.Minute) }, []string{paragraphs(letMe, noChoice, enjoy)}},
		"the process dies": {[]modelfake.Script{{modelfake.Text(tale)}}, func(c *chatHarness) { c.crash(); c.start() }, []string{tale}},
		"the process dies, and the next asks": {playScript("blue"), func(c *chatHarness) { c.crash(); c.start() },
			[]string{paragraphs(letMe, "🎵 Now playing: blue monk", "Other matches: “blue train”.", enjoy), "📎 blue_monk.mp3: the sound of blue monk"}},
		"the process ends": {[]modelfake.Script{{modelfake.Text(tale)}}, func(c *chatHarness) { c.shutdown(); c.start() }, []string{tale}},
	} {
		t.Run(name, func(t *testing.T) {
			onEachPlatform(t, func(cfg *config.Config) {
				withAlbum(t)(cfg)
				cfg.Shutdown = time.Second
			}, func(s *chatHarness) {
				w := s.askWhichTrack(s.ada, c.then...)
				open := require.Value(s.Store.OpenQuestions(s.Context(), s.rooms()[0]))(s)
				s.wantNoPings(connectortest.Ada) // they add messages
				c.do(s)
				s.Pass(time.Minute)
				s.WaitIdle()
				s.wantMessages(s.ada, c.want...)
				w.PressAgain(connectortest.Ada, s.ada, open[0].ID+":1")
				s.Pass(time.Minute)
				if told := w.Told(); !slices.Equal(told, []string{"This question has closed."}) {
					t.Errorf("who presses then is told %q", told)
				}
				s.wantMessages(s.ada, c.want...)
			})
		})
	}
}

// IN-06: in a group the next question waits for the choice.
func TestWhichTrackInTheOrderOfAGroup(t *testing.T) {
	onEachPlatform(t, withAlbum(t), func(c *chatHarness) {
		w := c.askWhichTrack(c.group, playScript("")[1], modelfake.Script{modelfake.Text("Hello Bob.")})
		c.Mention(connectortest.Bob, c.group, "Hello")
		c.Say(connectortest.Bob, c.group, "1")
		c.Pass(time.Minute)
		c.wantMessages(c.group, paragraphs(letMe, which), choices)
		c.wantModelCalls(1)
		w.Press(connectortest.Ada, c.group, 1)
		c.WaitIdle()
		c.wantMessages(c.group, paragraphs(letMe, train, enjoy), trainFile, "Hello Bob.")
	})
}
