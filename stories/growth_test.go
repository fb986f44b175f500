package stories_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/config"
	"parley/config/configtest"
	"parley/connectors/connectortest"
	"parley/connectors/discord"
	"parley/connectors/telegram"
	"parley/models/modelfake"
)

// outlay is what an answer took: requests, and what the process allocated, with the servers of the model and of the platform.
type outlay struct{ requests, allocations, bytes float64 }

// ST-22: through the whole gateway, heard by an observer, no delta of an answer of 200 KB costs more than one of a tenth.
func TestLongAnswersInChats(t *testing.T) {
	const short, long = 5_000, 50_000
	uncapped := func(cfg *config.Config) {
		configtest.Section[discord.Config](cfg.Connectors).MaxMessages, configtest.Section[telegram.Config](cfg.Connectors).MaxMessages = 0, 0
	}
	onEachPlatform(t, uncapped, func(c *chatHarness) {
		c.grow(short) // what is made once
		a, b := c.grow(short), c.grow(long)
		for what, of := range map[string][2]float64{"requests": {a.requests, b.requests}, "allocations": {a.allocations, b.allocations}, "bytes": {a.bytes, b.bytes}} {
			a, b := of[0]/short, of[1]/long
			c.Logf("%s for each delta: %.3f of %d, %.3f of %d", what, a, short, b, long)
			if b > 1.3*a {
				c.Errorf("%s grow faster than the answer: %.3f for each of %d deltas, %.3f for each of %d", what, a, short, b, long)
			}
		}
	})
}

// grow has Ada answered in so many deltas of 4 bytes, a hundred in a second.
func (c *chatHarness) grow(deltas int) outlay {
	c.Helper()
	const burst = 50
	text := strings.Repeat("The quick fox jumps over the lazy dog until the evening comes.\n\n", 4*deltas/64)
	script := modelfake.Script{}
	for at := 0; at < len(text); at += 4 * burst {
		script = append(script, modelfake.Text(text[at:min(at+4*burst, len(text))], modelfake.ByBytes(4)), modelfake.Pause(burst*10*time.Millisecond))
	}
	c.model.Queue(script)
	runtime.GC()
	requests, heard := len(c.Requests()), c.events.text
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c.Say(connectortest.Ada, c.ada, "Tell me everything")
	c.Pass(time.Duration(deltas)*10*time.Millisecond + 2*time.Minute)
	runtime.ReadMemStats(&after)
	synctest.Wait()
	shown := strings.Join(connectortest.BotTexts(c, c.ada), "\n\n")
	if n := strings.Count(shown, "The quick fox"); n < len(text)/64 || c.events.text-heard != len(text) {
		c.Errorf("%d sentences are shown of %d, and %d bytes were heard of %d", n, len(text)/64, c.events.text-heard, len(text))
	}
	return outlay{float64(len(c.Requests()) - requests), float64(after.Mallocs - before.Mallocs), float64(after.TotalAlloc - before.TotalAlloc)}
}

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
			c.restart()
			c.Pass(time.Minute)
		}
	})
}
