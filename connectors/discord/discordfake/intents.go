package discordfake

// Intents say which events a session wants, in Discord's numbers.
type Intents int

// The intents that the fake's events need, and the privileged ones.
const (
	IntentGuilds         Intents = 1 << 0
	IntentGuildMembers   Intents = 1 << 1
	IntentGuildPresences Intents = 1 << 8
	IntentGuildMessages  Intents = 1 << 9
	IntentGuildReactions Intents = 1 << 10
	IntentGuildTyping    Intents = 1 << 11
	IntentDMs            Intents = 1 << 12
	IntentDMReactions    Intents = 1 << 13
	IntentDMTyping       Intents = 1 << 14
	IntentMessageContent Intents = 1 << 15

	privilegedIntents = IntentGuildMembers | IntentGuildPresences | IntentMessageContent
	// knownIntents are bits 0–16, 20, 21, 24 and 25.
	knownIntents Intents = 1<<17 - 1 | 1<<20 | 1<<21 | 1<<24 | 1<<25
)

func messageIntent(c *channel) Intents {
	if c.guild == nil {
		return IntentDMs
	}
	return IntentGuildMessages
}
