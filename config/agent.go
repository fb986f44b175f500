package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// Agent is the agent and its character.
type Agent struct {
	// The display name.
	Name string `yaml:"name" default:"Parley"`
	// The system prompt, of any length.
	System string `yaml:"system" default:"You are a helpful assistant in a chat. Answer in the language of the question, briefly and plainly. When you do not know something, say so."`
	// A file with the agent's character, relative to this one: YAML, or an unmodified elizaOS character.json.
	// Keys that you set here override those in the file.
	Character string `yaml:"character"`
	// Other names that it responds to at the start of a message, such as ["bot"]. Only where access.group is ambient.
	Names []string `yaml:"names"`
	// Its name on chat platforms, if different. It also responds to this name.
	Username string `yaml:"username"`
	// The kind of agent, such as support. Plugins can bring prompts for agents of one type. Empty = no type.
	Type string `yaml:"type"`
	// How the model answers: native = text and tool calls, which most models support;
	// xml = text with tags around its parts, for models without reliable tool calls;
	// xml_steps = the same, but the model plans step by step in hidden calls before it writes the answer, which takes longer.
	Generation Generation `yaml:"generation" default:"native"`
	// The maximum number of model calls for one answer, from 2 to 32. Each round of actions is one call.
	MaxSteps int `yaml:"max_steps" default:"6"`
	// Its background, one sentence each, such as ["Parley grew up in a lighthouse."].
	Bio []string `yaml:"bio"`
	// Topics that it knows about and likes to talk about.
	Topics []string `yaml:"topics"`
	// Its personality, such as [calm, curious].
	Adjectives []string `yaml:"adjectives"`
	// Its writing style, one rule each, such as ["never uses emoji"].
	Style Style `yaml:"style"`
	// Example conversations: a list of
	//   - messages: [{name: Ann, text: "Are you there?"}, {name: Parley, text: "Always."}]
	MessageExamples []Conversation `yaml:"message_examples"`
	// Example posts.
	PostExamples []string `yaml:"post_examples"`
	// Its knowledge: sentences, and files or folders, relative to this file, such as ["We close at six.", docs/faq.md]. Text,
	// Markdown, PDF, Office and HTML files are read, and again when they change. The address of your site's sitemap, such as
	// https://www.example.org/sitemap.xml, stands for its pages, which are read daily. The parts that match a question are
	// added to the prompt.
	Knowledge []string `yaml:"knowledge"`
	// Folders outside its own that a character file may read knowledge from, such as [docs].
	KnowledgeRoots []string `yaml:"knowledge_roots"`
	// Prompts that replace the built-in ones. Variables are in braces, as in {{agentName}}; docs/character.md lists them.
	Templates Templates `yaml:"templates"`
	// The longest prompt, in estimated tokens. Set less for a model with a smaller context window.
	PromptTokens int `yaml:"prompt_tokens" default:"32000"`
	// The part of it for the conversation. Older messages are left out and summarized.
	HistoryTokens int `yaml:"history_tokens" default:"8000"`
	// true = the small model summarizes older messages: one short call now and then. The demo model can't.
	Summaries bool `yaml:"summaries" default:"true"`
	// Earlier messages that no longer fit into the prompt, but are added to it when a question needs them: words =
	// those that share words with the question; meaning = also those that mean something similar (needs
	// models.embedding); meaning_all = the same, also for messages from before that was switched on, which "gateway check" counts;
	// off = nothing.
	Recall Recall `yaml:"recall" default:"words"`
	// true = the small model saves lasting facts that users mention, and replaces those that are no longer true: one short call every few turns.
	Reflection bool `yaml:"reflection"`
	// Where facts about a person are used: room = only where they were mentioned; person = also in direct chats with that person;
	// everywhere = also in groups where that person asks, but never facts from direct chats.
	FactScope FactScope `yaml:"fact_scope" default:"room"`
	// The number of days that facts are used; then they are deleted. 0 = they don't expire.
	FactDays int `yaml:"fact_days"`
	// true = the agent reads up to three pages that a question links to, before it answers. Only https pages on the public internet.
	ReadLinks bool `yaml:"read_links"`

	// Sources are the files that Knowledge names, and Documents its texts at the start: of PDF, Office and HTML files only
	// the names.
	Sources   Sources    `yaml:"-"`
	Documents []Document `yaml:"-"`
}

// Style is the writing style, one rule each.
type Style struct {
	// Everywhere.
	All []string `yaml:"all"`
	// In conversations.
	Chat []string `yaml:"chat"`
	// In posts.
	Post []string `yaml:"post"`
}

// Conversation is an example conversation.
type Conversation struct {
	// Its messages, oldest first.
	Messages []ExampleMessage `yaml:"messages"`
}

// ExampleMessage is a message of an example conversation.
type ExampleMessage struct {
	// The author.
	Name string `yaml:"name"`
	// The text.
	Text string `yaml:"text"`
	// The names of the actions that the agent calls with it.
	Actions []string `yaml:"actions"`
}

// Templates replace the built-in prompts. Empty = the built-in one.
type Templates struct {
	// Decides whether to answer a message in a group.
	ShouldRespond string `yaml:"should_respond"`
	// Writes an answer.
	MessageHandler string `yaml:"message_handler"`
	// Continues an answer that was cut off by the model's length limit.
	Continue string `yaml:"continue"`
	// Writes a post.
	PostCreation string `yaml:"post_creation"`
	// Describes an image.
	ImageDescription string `yaml:"image_description"`
	// Extracts facts to remember from a conversation.
	Reflection string `yaml:"reflection"`
	// Instructions for the agent's evaluation of a conversation, which later prompts of the room contain. Empty = no evaluation.
	Evaluation string `yaml:"evaluation"`
	// Summarizes the earlier part of a conversation.
	Summary string `yaml:"summary"`
	// Decides the next step (with generation: xml_steps).
	MultiStepDecision string `yaml:"multi_step_decision"`
	// Writes the answer after the steps (with generation: xml_steps).
	MultiStepSummary string `yaml:"multi_step_summary"`
}

// ByName returns the templates that are set, by the names of the prompts in the program.
func (t Templates) ByName() map[string]string {
	all := map[string]string{}
	for _, e := range entries(reflect.ValueOf(t)) {
		if e.value.String() != "" {
			all[camel(e.key)] = e.value.String()
		}
	}
	return all
}

var (
	capital = regexp.MustCompile(`[A-Z]`)
	lowered = regexp.MustCompile(`_[a-z]`)
)

// snake returns the key of a name in camel case.
func snake(name string) string { return strings.ToLower(capital.ReplaceAllString(name, "_$0")) }

// camel returns a key in camel case.
func camel(key string) string {
	return lowered.ReplaceAllStringFunc(key, func(s string) string { return strings.ToUpper(s[1:]) })
}

// maxFactDays is ten years.
const maxFactDays = 3650

func (d checker) checkAgent(a Agent) {
	if a.MaxSteps < 2 || a.MaxSteps > 32 {
		d.reject("agent.max_steps", "is not between 2 and 32", "the default is 6")
	}
	if a.PromptTokens < 1000 {
		d.reject("agent.prompt_tokens", "is less than 1000", "no question would fit; set the model's context window, such as 32000")
	}
	if a.HistoryTokens < 0 || a.HistoryTokens > a.PromptTokens {
		d.reject("agent.history_tokens", "is not between 0 and agent.prompt_tokens", "it is part of the prompt")
	}
	if a.FactDays < 0 || a.FactDays > maxFactDays {
		d.reject("agent.fact_days", fmt.Sprintf("is not between 0 and %d", maxFactDays), "0 keeps facts until they are forgotten")
	}
}
