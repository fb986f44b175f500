package stories_test

import (
	"net/http"
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
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/lang"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/progressive"
)

// withMusic lets the agent play two tracks: one is there after five seconds, the other never.
func withMusic(cfg *config.Config) {
	cfg.Plugins.Player.URLs = []string{"http://music.test/so_what.mp3?key=x", "http://music.test/endless.mp3"}
}

// serveMusic is where the tracks are.
func (s *harness) serveMusic() {
	connectortest.Serve(s.T, s.listen("music.test:80"), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		wait := 5 * time.Second
		if strings.Contains(r.URL.Path, "endless") {
			wait = time.Hour
		}
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
		}
	}))
}

const (
	letMe    = "Let me put on some music."
	settling = "✨ Setting up so what…"
	playing  = "🎵 Now playing: **so what**"
	enjoy    = "Enjoy it."
)

// playScript asks for a track by a word of its title, and says something before and after.
func playScript(title string) []modelfake.Script {
	return []modelfake.Script{
		{modelfake.Text(letMe), modelfake.Pause(3 * time.Second), modelfake.ToolCall("c1", "PLAY_MUSIC", `{"title":"`+title+`"}`)},
		{modelfake.Pause(3 * time.Second), modelfake.Text(enjoy)},
	}
}

// paragraphs is how an answer stands on platforms that show all of Markdown that is in it.
func paragraphs(ps ...string) string { return strings.ReplaceAll(strings.Join(ps, "\n\n"), "**", "") }

// steps are the different texts that people saw of a message, one after the other.
func steps(m connectortest.Message) (texts []string) {
	for _, v := range m.Versions {
		texts = append(texts, strings.ReplaceAll(v.Text, "**", ""))
	}
	return slices.Compact(texts)
}

// ST-16, ST-17: text, status, status, tool, text and the last word, as they stand one after the other in one message.
func TestProgressInChat(t *testing.T) {
	const asks, runs, ran = "⏳ Play music: so what", "⚙️ Play music: so what", "✅ Play music: so what → playing"
	ended := paragraphs(letMe, playing, enjoy)
	for progress, want := range map[progressive.Progress][]string{
		progressive.Off:     {letMe, paragraphs(letMe, settling), paragraphs(letMe, playing), ended},
		progressive.Compact: {letMe, paragraphs(letMe, settling, runs), paragraphs(letMe, playing, ran), ended},
		progressive.Full:    {letMe, paragraphs(letMe, settling, runs), paragraphs(letMe, playing, ran), ended + "\n\n" + ran},
	} {
		passing := []string{ // what one reads or not: the next comes at the same moment
			paragraphs(letMe, "⏳ Play music"), paragraphs(letMe, asks), paragraphs(letMe, runs), paragraphs(letMe, playing, runs), ended + "\n\n" + ran,
		}
		if progress == progressive.Off {
			passing = nil
		}
		t.Run(string(progress), func(t *testing.T) {
			onEachPlatform(t, func(cfg *config.Config) {
				withMusic(cfg)
				configtest.Section[discord.Config](cfg.Connectors).Progress, configtest.Section[telegram.Config](cfg.Connectors).Progress = progress, progress
			}, func(c *chatHarness) {
				c.serveMusic()
				c.model.Queue(playScript("so what")...)
				c.Say(connectortest.Ada, c.ada, "Play something")
				c.waitShown(c.ada, "Enjoy")
				c.WaitIdle()
				got := slices.DeleteFunc(steps(c.Messages(c.ada)[1]), func(s string) bool {
					return slices.Contains(passing, s) && !slices.Contains(want, s)
				})
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// What a page shows at each step, and what it shows when it is loaded again: the same text, with the trail.
func TestProgressOnThePage(t *testing.T) {
	withGateway(t, withMusic, func(s *harness) {
		s.serveMusic()
		s.model.Queue(playScript("so what")...)
		id := s.newConversation()
		stream := s.send(id, "k1", "Play something")
		var frames []string
		for {
			e := require.Value(stream.Next())(s)
			frames = append(frames, tokenless(e.Raw))
			if e.Type == "done" {
				break
			}
		}
		said := "web/" + id + "#1"
		want := []string{
			`{"type":"status","kind":"thinking"}`,
			`{"type":"status","kind":"streaming"}`,
			`{"type":"token","text":"Let me put on some music."}`,
			`{"type":"tool","phase":"call","callId":"c1","toolName":"PLAY_MUSIC","label":"Play music","stage":"start","at":25}`,
			`{"type":"tool","phase":"call","callId":"c1","toolName":"PLAY_MUSIC","label":"Play music","stage":"streaming","at":25,"parametersChunk":"{\"title\":\"so what\"}","compactParams":"so what"}`,
			`{"type":"status","kind":"running_action","actionName":"PLAY_MUSIC"}`,
			`{"type":"tool","phase":"call","callId":"c1","toolName":"PLAY_MUSIC","label":"Play music","stage":"running","at":25,"args":"{\"title\":\"so what\"}","compactParams":"so what"}`,
			`{"type":"status","kind":"streaming"}`,
			`{"type":"token","text":"\n\n✨ Setting up so what…"}`,
			`{"type":"token","fullText":"Let me put on some music.\n\n🎵 Now playing: **so what**"}`,
			`{"type":"tool","phase":"result","callId":"c1","toolName":"PLAY_MUSIC","label":"Play music","stage":"end","at":25,"args":"{\"title\":\"so what\"}","compactParams":"so what","result":"\"so what\" is now playing; the user sees that, with the link if there is one.","shortResult":"playing"}`,
			`{"type":"token","text":"\n\nEnjoy it."}`,
			`{"type":"done","fullText":"Let me put on some music.\n\n🎵 Now playing: **so what**\n\nEnjoy it.","messageId":"` + said + `","agentName":"Parley","actionCallbackHistory":["✨ Setting up so what…","🎵 Now playing: **so what**"]` + twoCalls + `}`,
		}
		if diff := cmp.Diff(want, frames); diff != "" {
			t.Error(diff)
		}
		lines := s.lines(id)
		if len(lines) != 2 || lines[1].Text != letMe+"\n\n"+playing+"\n\n"+enjoy {
			t.Fatalf("a reload shows %+v", lines)
		}
		if diff := cmp.Diff([]string{settling, playing}, lines[1].History); diff != "" {
			t.Errorf("the trail of a reload: %s; want none", diff)
		}
		if len(lines[1].Tools) != 1 || string(lines[1].Tools[0]) != want[10] {
			t.Errorf("the calls of a reload: %s, want %s", lines[1].Tools, want[10])
		}
		s.model.Queue(modelfake.Script{modelfake.Text("Welcome.")})
		s.readAll(s.send(id, "k2", "Thanks"))
		prompt := string(s.model.Requests()[2].Raw)
		if n := strings.Count(prompt, "Now playing"); n != 1 || strings.Contains(prompt, "Setting up") {
			t.Errorf(`the next prompt tells %d times what plays: %s; want 1 and it without "Setting up"`, n, prompt)
		}
	})
}

// ST-08, ST-09, ST-10, ST-21: however an answer ends, a call and what it says under way end with it, and the last word is
// exact.
func TestEndingsWithACall(t *testing.T) {
	const setting = "✨ Setting up endless…"
	wait := modelfake.Script{modelfake.Pause(time.Hour)}
	for name, c := range map[string]struct {
		title string
		after []modelfake.Script
		do    func(c *chatHarness)
		want  []string
	}{
		"the model breaks after the call": {"so what", []modelfake.Script{{modelfake.Text(enjoy), modelfake.Cut()}}, func(*chatHarness) {},
			[]string{paragraphs(letMe, playing, enjoy, "("+llm.ProviderIssue.Sentence(lang.Voice{})+")")}},
		"the call fails": {"endless", []modelfake.Script{{modelfake.Text("Sorry.")}}, func(*chatHarness) {},
			[]string{paragraphs(letMe, "⚠️ “endless” can't be played right now.", "Sorry.")}},
		"a user stops it": {"endless", []modelfake.Script{wait}, func(c *chatHarness) { c.Say(connectortest.Ada, c.ada, "/stop") },
			[]string{paragraphs(letMe, setting, "(Stopped.)")}},
		"a newer message": {"endless", nil, func(c *chatHarness) { c.Say(connectortest.Ada, c.ada, "Never mind") },
			[]string{paragraphs(letMe, setting, "(Interrupted by a newer message.)"), "You said: Never mind"}},
		"the message is removed": {"endless", []modelfake.Script{{modelfake.Text("Sorry.")}}, func(c *chatHarness) {
			c.Remove(c.ada, c.Messages(c.ada)[1])
			run := require.Value(c.Store.Run(c.Context(), chat.RunID(c.rooms()[0])+"#1"))(c)
			c.forgotten = map[string]bool{run.Shown[0].ID: true}
		}, nil},
		"the process dies": {"endless", []modelfake.Script{{modelfake.Text(tale)}}, func(c *chatHarness) { c.crash(); c.start() }, []string{tale}},
		"the process ends": {"endless", []modelfake.Script{{modelfake.Text(tale)}}, func(c *chatHarness) { c.shutdown(); c.start() }, []string{tale}},
	} {
		t.Run(name, func(t *testing.T) {
			onEachPlatform(t, func(cfg *config.Config) {
				withMusic(cfg)
				cfg.Shutdown = time.Second
			}, func(s *chatHarness) {
				s.serveMusic()
				s.model.Queue(append(playScript(c.title)[:1], c.after...)...)
				s.Say(connectortest.Ada, s.ada, "Play something")
				s.waitShown(s.ada, map[string]string{"endless": setting}[c.title])
				c.do(s)
				s.WaitIdle()
				s.Pass(5 * time.Second)
				s.WaitIdle()
				got := connectortest.BotTexts(s, s.ada)
				for i := range got {
					got[i] = strings.NewReplacer("*", "", "_", "").Replace(got[i])
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// ST-21: a chat that can't be written to any more causes no more work: the call in flight ends, nothing is asked of the model
// or the platform again, and what was said is remembered. A later message there is answered.
func TestEndingsWithoutAChat(t *testing.T) {
	for name, fault := range map[string]connectortest.Fault{
		"barred":   {Op: progressive.Edit, Barred: true},
		"vanished": {Op: progressive.Edit, Vanished: true},
	} {
		t.Run(name, func(t *testing.T) {
			onEachPlatform(t, func(cfg *config.Config) {
				withMusic(cfg)
				configtest.Section[discord.Config](cfg.Connectors).Progress, configtest.Section[telegram.Config](cfg.Connectors).Progress = progressive.Off, progressive.Off // else it is found out sooner
			}, func(c *chatHarness) {
				c.serveMusic()
				c.model.Queue(playScript("endless")[0])
				c.Say(connectortest.Ada, c.ada, "Play something")
				c.waitShown(c.ada, letMe)
				c.forgotten = map[string]bool{c.Messages(c.ada)[1].ID: true} // people read less than is remembered
				c.InjectFault(fault)
				c.Pass(10 * time.Second)
				room := c.rooms()[0]
				open := require.Value(c.Store.OpenRuns(c.Context(), room))(c)
				if len(open) > 0 {
					c.Fatalf("there is work left: %+v; want none", open)
				}
				said := require.Value(c.Store.Recent(c.Context(), room, chat.Said, 0, 1))(c)
				m := said[0]
				if !m.Interrupted || !strings.HasPrefix(m.Text, letMe) || !strings.HasSuffix(m.Text, "_(Stopped.)_") || len(m.Calls) != 1 ||
					m.Calls[0].Stage != answer.StageEnd || m.Calls[0].Error != "It was interrupted." {
					c.Errorf("remembered is %+v", m)
				}
				before := len(c.Requests())
				c.Pass(time.Hour)
				if n := len(c.Requests()); n != before {
					c.Errorf("%d requests after the end", n-before)
				}
				c.wantModelCalls(1)
				c.ClearFaults()
				c.model.Queue(modelfake.Script{modelfake.Text("Here I am.")})
				c.Say(connectortest.Ada, c.ada, "Are you there?")
				c.waitShown(c.ada, "Here I am.")
			})
		})
	}
}

// On the page every call that has begun ends once, on the stream that it began on.
func TestCallsEndOnThePage(t *testing.T) {
	for name, do := range map[string]func(s *harness, conversation string){
		"stopped":    func(s *harness, id string) { s.Must(s.browser.Stop(s.Context(), id)) },
		"superseded": func(s *harness, id string) { s.readAll(s.send(id, "k2", "Never mind")) },
		"it fails":   func(*harness, string) {},
	} {
		t.Run(name, func(t *testing.T) {
			withGateway(t, withMusic, func(s *harness) {
				s.serveMusic()
				s.model.Queue(append(playScript("endless")[:1], modelfake.Script{modelfake.Text("Well.")})...)
				id := s.newConversation()
				stream := s.send(id, "k1", "Play something")
				s.readUntil(stream, "Setting up")
				do(s, id)
				rest := require.Value(stream.All())(s)
				ends := 0
				for i, e := range rest {
					if e.Type == "tool" && e.Stage == answer.StageEnd {
						ends++
						if e.CallID != "c1" || e.Phase != "error" || i == len(rest)-1 {
							t.Errorf("it ended with %s", e.Raw)
						}
					}
				}
				if ends != 1 {
					t.Errorf("the call ended %d times: %v; want 1", ends, rest)
				}
			})
		})
	}
}

// Texts that a merge by overlap damages: each piece is new, whatever it looks like.
func TestTextIsNeverMerged(t *testing.T) {
	for want, pieces := range map[string][]string{
		"banana":                  {"bana", "na"},
		"haha":                    {"ha", "ha"},
		"one\n\n\n\ntwo":          {"one\n\n", "\n\n", "two"},
		"```\nx\n```\n":           {"```\n", "x\n", "```\n"},
		"Step 1: Step 1 done":     {"Step 1: ", "Step 1 done"},
		"a, a, a, and a, a, a, b": {"a, ", "a, ", "a, ", "and a, ", "a, a, ", "b"},
	} {
		var script modelfake.Script
		for _, p := range pieces {
			script = append(script, modelfake.Text(p, modelfake.Whole), modelfake.Pause(time.Second))
		}
		withGateway(t, nil, func(s *harness) {
			s.model.Queue(script)
			if end := s.readAll(s.send(s.newConversation(), "k", "Go")); *end.FullText != want {
				t.Errorf("%q became %q; want %q", pieces, *end.FullText, want)
			}
		})
	}
}
