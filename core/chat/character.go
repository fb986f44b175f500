package chat

// Character is what makes an agent somebody. Every field may be empty. Lists keep their order: prompts that stay the same
// byte for byte cost less.
type Character struct {
	Username        string // how it is called on platforms, where that differs from its name
	Bio             []string
	Topics          []string // it knows and likes to talk about
	Adjectives      []string
	Style           Style
	MessageExamples [][]Example // conversations that show how it talks
	PostExamples    []string
	Knowledge       []Document
}

// Style says how the agent writes: everywhere, in conversations, and in posts.
type Style struct{ All, Chat, Post []string }

// Example is one message of an example conversation.
type Example struct {
	Name    string
	Text    string
	Actions []string // what the agent did beside
}

// Document is a text that the agent knows.
type Document struct {
	Name string // a label; may be empty
	Text string
}
