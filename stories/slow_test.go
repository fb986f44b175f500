package stories_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/config"
	"parley/config/configtest"
	"parley/connectors/connectortest"
	"parley/connectors/discord"
	"parley/connectors/telegram"
	"parley/internal/require"
	"parley/progressive"
)

const once = "🔁 The server of “so what” is not responding; trying again…"

// serveSlowMusic is a track whose server answers with the second try.
func (s *harness) serveSlowMusic() {
	first := true
	connectortest.Serve(s.T, s.listen("music.test:80"), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if first {
			first = false
			<-r.Context().Done()
		}
	}))
	s.model.Queue(playScript("so what")...)
}

// ST-16: a server that is slow to answer is tried once more. People are told so where the status stood before, and what
// came of it takes the place of that.
func TestSlowServerInChat(t *testing.T) {
	onEachPlatform(t, func(cfg *config.Config) {
		withMusic(cfg)
		configtest.Section[discord.Config](cfg.Connectors).Progress, configtest.Section[telegram.Config](cfg.Connectors).Progress = progressive.Off, progressive.Off
	}, func(c *chatHarness) {
		c.serveSlowMusic()
		c.Say(connectortest.Ada, c.ada, "Play something")
		c.waitShown(c.ada, "Enjoy")
		c.WaitIdle()
		want := []string{letMe, paragraphs(letMe, settling), paragraphs(letMe, once), paragraphs(letMe, playing), paragraphs(letMe, playing, enjoy)}
		if diff := cmp.Diff(want, steps(c.Messages(c.ada)[1])); diff != "" {
			t.Error(diff)
		}
	})
}

// The page replaces it in the text, and says it once in a frame of its own, for who shows nothing before the end: that is
// what a script in a terminal tells.
func TestSlowServerOnThePage(t *testing.T) {
	withGateway(t, withMusic, func(s *harness) {
		s.serveSlowMusic()
		stream := s.send(s.newConversation(), "k1", "Play something")
		s.readUntil(stream, settling)
		rest := require.Value(stream.All())(s)
		var frames []string
		for _, e := range rest {
			if e.Type != "tool" {
				frames = append(frames, tokenless(e.Raw))
			}
		}
		want := []string{
			`{"type":"status","text":"` + once + `","kind":"update"}`,
			`{"type":"token","fullText":"` + letMe + `\n\n` + once + `"}`,
			`{"type":"token","fullText":"` + letMe + `\n\n` + playing + `"}`,
			`{"type":"token","text":"\n\n` + enjoy + `"}`,
			`{"type":"done","fullText":"` + letMe + `\n\n` + playing + `\n\n` + enjoy + `","messageId":"` + rest[len(rest)-1].MessageID +
				`","agentName":"Parley","actionCallbackHistory":["` + settling + `","` + once + `","` + playing + `"]` + twoCalls + `}`,
		}
		if diff := cmp.Diff(want, frames); diff != "" {
			t.Error(diff)
		}
	})
}
