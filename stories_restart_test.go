package parley_test

import (
	"testing"
	"time"

	. "parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/connectors/discord/discordfake"
)

// DR-15, DR-30: what people write while no process runs is answered by the next one, once: a mention in a channel, one in a
// channel that was never used before, and direct messages, also of people who never wrote before.
func TestDiscordMessagesDuringARestart(t *testing.T) {
	for name, end := range map[string]func(*chat){
		"stopped": func(c *chat) { c.shutdown() },
		"killed":  func(c *chat) { c.crash() },
	} {
		t.Run(name, func(t *testing.T) {
			onDiscord(t, func(c *chat, w *discordworld.World) {
				c.Say(Ada, c.ada, "Hi")
				c.want(c.ada, "You said: Hi")
				fresh, bob := Place(w.Fake.AddChannel(w.Guild(), "fresh")), c.Direct(Bob)
				end(c)
				c.Mention(Ada, c.group, "in the group")
				c.Mention(Bob, fresh, "in a fresh channel")
				c.Say(Ada, c.ada, "directly")
				c.Say(Bob, bob, "for the first time")
				c.pass(time.Minute)
				c.start()
				c.pass(time.Minute)
				c.want(c.ada, "You said: Hi", "You said: directly")
				c.want(bob, "You said: for the first time")
				c.want(c.group, "You said: Ada: in the group")
				c.want(fresh, "You said: Bob: in a fresh channel")
				c.asked(5)
				if n := len(w.Fake.Identifies()); n != 1 {
					t.Errorf("%d logins", n)
				}
			})
		})
	}
}

// DR-30: what is written while answers under way are finished before the end is answered by the next process.
func TestDiscordMessagesDuringTheGrace(t *testing.T) {
	onDiscord(t, func(c *chat, w *discordworld.World) {
		c.model.Queue(slowly(tale))
		c.Say(Ada, c.ada, "Tell me")
		c.read(c.ada, "Once upon a time")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.shutdown()
		}()
		c.pass(2 * time.Second)
		c.Mention(Bob, c.group, "Too late?")
		<-ended
		c.start()
		c.pass(time.Minute)
		c.want(c.group, "You said: Bob: Too late?")
		c.want(c.ada, tale)
		c.asked(2)
	})
}

// DR-30: where the session can't be continued, by its age or because Discord has ended it, what was missed is fetched and
// answered once. What was answered before, and what bots wrote, the bot itself too, is not answered.
func TestDiscordCatchesUp(t *testing.T) {
	for name, lose := range map[string]func(*chat, *discordfake.Server){
		"too late": func(c *chat, _ *discordfake.Server) { c.pass(10 * time.Minute) },
		"refused":  func(_ *chat, f *discordfake.Server) { f.RefuseResume(false) },
	} {
		t.Run(name, func(t *testing.T) {
			onDiscord(t, func(c *chat, w *discordworld.World) {
				fresh := Place(w.Fake.AddChannel(w.Guild(), "fresh"))
				c.Say(Ada, c.ada, "Hi")
				c.Mention(Bob, c.group, "Hello")
				c.want(c.ada, "You said: Hi")
				c.want(c.group, "You said: Bob: Hello")
				c.shutdown()
				c.Mention(Ada, c.group, "in the group")
				c.Mention(Bob, fresh, "in a fresh channel")
				c.Mention(Robot, c.group, "of a bot")
				c.Say(Ada, c.ada, "directly")
				lose(c, w.Fake)
				c.start()
				c.pass(time.Minute)
				c.want(c.ada, "You said: Hi", "You said: directly")
				c.want(c.group, "You said: Bob: Hello", "You said: Ada: in the group")
				c.want(fresh, "You said: Bob: in a fresh channel")
				c.asked(5)
				if n := len(w.Fake.Identifies()); n != 2 {
					t.Errorf("%d logins", n)
				}
			})
		})
	}
}
