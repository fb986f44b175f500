package chat

// Character describes the agent's personality. Every field can be empty. Lists keep their order, because prompts that
// are identical byte for byte hit the provider's prompt cache.
type Character struct {
	Username        string // its name on platforms, if different
	Bio             []string
	Topics          []string // topics it knows and likes to talk about
	Adjectives      []string
	Style           Style
	MessageExamples [][]Example // example conversations
	PostExamples    []string
}

// Style describes how the agent writes: everywhere, in conversations, and in posts.
type Style struct{ All, Chat, Post []string }

// Example is one message of an example conversation.
type Example struct {
	Name    string
	Text    string
	Actions []string // the actions of the agent with this message
}
