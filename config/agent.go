package config

// Agent says who the agent is.
type Agent struct {
	// A file with the agent's character, in YAML or as elizaOS's character.json. What stands here besides counts more.
	Character string `yaml:"character"`
	// The agent's name, as people see it.
	Name string `yaml:"name" default:"Parley"`
	// Other names that the agent hears at the start of a message, in groups with ambient access.
	Names []string `yaml:"names"`
	// What it is called on platforms, where that differs; it hears to that too.
	Username string `yaml:"username"`
	// The instructions that stand before every conversation.
	System string `yaml:"system" default:"You are a helpful assistant in a chat. Answer in the language of the question, briefly and plainly. When you do not know something, say so."`
	// The form in which the model answers: native for text and calls of tools, xml for text with tags around its parts.
	Generation Generation `yaml:"generation" default:"native"`
	// With xml: one step is decided after the other, each with a call of the model, before the answer is written.
	MultiStep bool `yaml:"multi_step"`
	// How often the model may be asked for one answer, from 2 to 32. Actions and steps count.
	MaxSteps int `yaml:"max_steps" default:"6"`
	// Who it is, a sentence each.
	Bio []string `yaml:"bio"`
	// What it knows about and likes to talk about.
	Topics []string `yaml:"topics"`
	// What it is like, a word each.
	Adjectives []string `yaml:"adjectives"`
	// How it writes.
	Style Style `yaml:"style"`
	// Conversations that show how it talks.
	MessageExamples []Conversation `yaml:"message_examples"`
	// Posts that show how it writes of its own accord.
	PostExamples []string `yaml:"post_examples"`
	// What it knows: sentences, or text files and folders, relative to the file they stand in.
	Knowledge []string `yaml:"knowledge"`
	// Folders beside its own that a character file may name in its knowledge, relative to this file.
	KnowledgeRoots []string `yaml:"knowledge_roots"`
	// Prompts in place of the built-in ones.
	Templates Templates `yaml:"templates"`
	// The longest prompt, in tokens by an estimate. A model that reads less needs less.
	PromptTokens int `yaml:"prompt_tokens" default:"32000"`
	// How much of that the conversation may take.
	HistoryTokens int `yaml:"history_tokens" default:"8000"`
	// Whether the small model sums up what no longer fits.
	Summaries bool `yaml:"summaries" default:"true"`
	// Whether the small model notes lasting facts that people mention, room by room: one call every few turns.
	Reflection bool `yaml:"reflection"`

	// Documents are what Knowledge holds.
	Documents []Document `yaml:"-"`
}

// Style is how the agent writes, a rule each.
type Style struct {
	// Everywhere.
	All []string `yaml:"all"`
	// In conversations.
	Chat []string `yaml:"chat"`
	// In posts of its own.
	Post []string `yaml:"post"`
}

// Conversation is an example of how the agent talks.
type Conversation struct {
	// Its messages, oldest first.
	Messages []ExampleMessage `yaml:"messages"`
}

// ExampleMessage is one message of an example.
type ExampleMessage struct {
	// Who says it.
	Name string `yaml:"name"`
	// What is said.
	Text string `yaml:"text"`
	// What the agent does beside, by the names of its actions.
	Actions []string `yaml:"actions"`
}

// Templates are the agent's prompts. Each is empty for the built-in one.
type Templates struct {
	// Whether a message in a group wants an answer.
	ShouldRespond string `yaml:"should_respond"`
	// The prompt of an answer.
	MessageHandler string `yaml:"message_handler"`
	// The rest of an answer that was cut off.
	Continue string `yaml:"continue"`
	// A message of the agent's own accord.
	PostCreation string `yaml:"post_creation"`
	// What a picture shows.
	ImageDescription string `yaml:"image_description"`
	// What to remember of a conversation.
	Reflection string `yaml:"reflection"`
	// What an earlier part of a conversation said.
	Summary string `yaml:"summary"`
	// The next step towards an answer.
	MultiStepDecision string `yaml:"multi_step_decision"`
	// The answer, after the steps.
	MultiStepSummary string `yaml:"multi_step_summary"`
}

// ByName are the templates that are set, by the names that prompts have in the program.
func (t Templates) ByName() map[string]string {
	all := map[string]string{
		"shouldRespond": t.ShouldRespond, "messageHandler": t.MessageHandler, "continue": t.Continue, "postCreation": t.PostCreation,
		"imageDescription": t.ImageDescription, "reflection": t.Reflection, "summary": t.Summary,
		"multiStepDecision": t.MultiStepDecision, "multiStepSummary": t.MultiStepSummary,
	}
	for name, text := range all {
		if text == "" {
			delete(all, name)
		}
	}
	return all
}

func (d *decoder) checkPrompts(a Agent) {
	if a.PromptTokens < 1000 {
		d.reject("agent.prompt_tokens", "is less than 1000", "no question would fit; set the model's context window, such as 32000")
	}
	if a.HistoryTokens < 0 || a.HistoryTokens > a.PromptTokens {
		d.reject("agent.history_tokens", "is not between 0 and agent.prompt_tokens", "it is part of the prompt")
	}
}
