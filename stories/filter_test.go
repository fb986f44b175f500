package stories_test

import (
	"strings"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/discord/discordfake"
	"parley/models/modelfake"
)

const blockedAnswer = "This server's AutoMod blocked my answer. Ask a moderator to exempt me, or rephrase your question."

// DR-27: an answer that AutoMod blocks, at once or while it grows, becomes one sentence, and its text is sent only once. The next
// answer is shown as ever.
func TestDiscordAutoMod(t *testing.T) {
	for name, script := range map[string]modelfake.Script{
		"at once":         {modelfake.Text("What a foul word.")},
		"while it grows":  {modelfake.Pace(200 * time.Millisecond), modelfake.Text(tale+" What a foul word. "+tale, modelfake.ByWord)},
		"in its end":      {modelfake.Pace(200 * time.Millisecond), modelfake.Text(tale+" What a foul", modelfake.ByWord)},
		"in several":      {modelfake.Text(strings.Repeat(tale+"\n\n", 20) + "What a foul word.")},
		"in the first of": {modelfake.Text("What a foul word.\n\n" + strings.Repeat(tale+"\n\n", 60))},
	} {
		t.Run(name, func(t *testing.T) {
			onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
				w.Fake.AutoMod("foul")
				c.model.Queue(script)
				c.Mention(connectortest.Ada, c.group, "Tell me")
				c.WaitIdle()
				c.forgotten = map[string]bool{}
				for _, m := range c.Messages(c.group) {
					c.forgotten[m.ID] = m.ByBot
				}
				c.wantShown(c.group, blockedAnswer)
				refused := 0
				for _, r := range w.Fake.Log() {
					if r.Status == 400 && (r.Route == discordfake.CreateMessage || r.Route == discordfake.EditMessage) {
						refused++
					}
				}
				if refused != 1 || !strings.Contains(c.Logged.String(), "AutoMod blocked an answer") {
					t.Errorf("%d requests were refused", refused)
				}
				c.Mention(connectortest.Bob, c.group, "Hi")
				c.wantShown(c.group, blockedAnswer, "You said: Bob: Hi")
			})
		})
	}
}
