package stories_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/models/modelfake"
)

// ST-29: of an answer of half a megabyte people get ten messages: the last is a file with the rest, and the one above says so. The
// next life of the gateway leaves them as they are.
func TestLongAnswerEndsInAFile(t *testing.T) {
	var b strings.Builder
	for i := range 7000 {
		fmt.Fprintf(&b, "Paragraph %d says that the quick brown fox jumps over the lazy dog.\n\n", i)
	}
	text := strings.TrimSpace(b.String())
	onEachPlatform(t, func(cfg *config.Config) { cfg.Shutdown = time.Second }, func(c *chatHarness) {
		c.model.Queue(modelfake.Script{modelfake.Text(text)})
		c.Say(connectortest.Ada, c.ada, "Tell me everything")
		c.Pass(3 * time.Minute)
		for range 2 {
			var own []connectortest.Message
			for _, m := range c.Messages(c.ada) {
				if m.ByBot {
					own = append(own, m)
				}
			}
			if len(own) != 10 || len(own[9].Files) != 1 {
				t.Fatalf("there are %d messages", len(own))
			}
			if !strings.Contains(own[8].Text, "The rest of this answer is in the file rest-of-answer.md below.") {
				t.Errorf(`the last text is %q; want it to contain "The rest of this answer is in the file rest-of-answer.md below."`, own[8].Text)
			}
			if f := own[9].Files[0]; f.Name != "rest-of-answer.md" || !strings.HasSuffix(text, strings.TrimSpace(string(f.Data))) || len(f.Data) < len(text)/2 {
				t.Errorf("the file is %s with %d bytes", f.Name, len(f.Data))
			}
			c.crash()
			c.start()
			c.Pass(time.Minute)
		}
	})
}
