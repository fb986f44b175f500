package stories_test

import (
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/internal/subtest"
	"parley/models/modelfake"
)

// The files of a message that joins an answer reach the model as those of a question do: pictures are shown, documents are read, voice
// messages are transcribed.
func TestChatSteeredFiles(t *testing.T) {
	for name, f := range map[string]struct {
		file connectortest.File
		says string
		want string // in the next request
	}{
		"a picture":       {photo(), "And this?", "image_url"},
		"a document":      {connectortest.File{Name: "plan.md", Type: "text/markdown", Data: []byte("Buy tea.")}, "And this?", "Buy tea."},
		"a voice message": {spoken(), "", "How are you?"},
	} {
		t.Run(name, subtest.With(onEachPlatform, nil, func(c *chatHarness) {
			withShop(c, func(cfg *config.Config) {
				cfg.Turns.Direct, cfg.Models.Transcription.Model, cfg.Models.Large.Vision = "steer", ears, new(true)
			})
			c.model.QueueFor(modelfake.Transcriptions, modelfake.Script{modelfake.Text("How are you?")})
			c.model.Queue(modelfake.Script{modelfake.Pause(30 * time.Second), modelfake.ToolCall("c", "shop__list", `{}`)}, modelfake.Script{modelfake.Text("All is noted.")})
			c.Say(connectortest.Ada, c.ada, "What is there?")
			c.Pass(5 * time.Second)
			c.SendFile(connectortest.Ada, c.ada, f.says, f.file)
			c.waitShown(c.ada, "All is noted.")
			c.wantModelCalls(2)
			if told := c.modelRequest(1); !strings.Contains(told, f.want) || !strings.Contains(told, "list: done") {
				c.Errorf("the model was told %s; want %q", told, f.want)
			}
		}))
	}
}
