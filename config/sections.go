package config

import (
	"fmt"
	"slices"
	"strings"

	"parley/internal/sections"
)

const openAIBase = "https://api.openai.com/v1"

// toggle is a part of the gateway that is enabled by its credentials.
type toggle struct {
	name, path, secret string
	variables          string // how to enable it without editing the file
	without            string // the behavior without it
	given              bool   // it has its credentials, so it is enabled
}

// howOn returns how to enable the part.
func (t toggle) howOn() string {
	return fmt.Sprintf("set %s, or %s.%s in the file", t.variables, t.path, t.secret)
}

func openAISection(c Config) toggle {
	o := c.Providers.OpenAI
	return toggle{"OpenAI", "providers.openai", "api_key",
		"OPENAI_API_KEY (or OPENAI_BASE_URL for your own server)", ", the demo model is used",
		o.APIKey != "" || o.BaseURL != ""}
}

func (c Config) sections() []toggle {
	all := []toggle{openAISection(c)}
	for _, s := range c.Connectors {
		all = append(all, toggleOf(s))
	}
	return all
}

// OpenAIOn reports whether the OpenAI provider has a key or a server.
func (c Config) OpenAIOn() bool { return openAISection(c).given }

// ShowsReasoning reports whether readers of the web chat can read reasoning: not in public, unless a model has thinking: public.
func (c Config) ShowsReasoning() bool {
	return !c.Web.Public || c.Models.Large.Thinking == ThinkingPublic || slices.ContainsFunc(c.Models.Chat, func(m ChatModel) bool { return m.Thinking == ThinkingPublic })
}

// namedSlot is a slot with its key and purpose.
type namedSlot struct {
	Slot
	path, does string
	needs      sections.Ability
}

// TaskSlot is a slot with its key in the configuration and its task.
type TaskSlot struct {
	Slot
	Key  string
	Task sections.Ability
}

// Slots returns the models besides those that answer, also those that are off.
func (c Config) Slots() (all []TaskSlot) {
	for _, s := range c.slots() {
		all = append(all, TaskSlot{s.Slot, s.path, s.needs})
	}
	return all
}

func (c Config) slots() []namedSlot {
	m := c.Models
	return []namedSlot{
		{m.Small, "models.small", "", sections.Answers}, // the large model takes over its tasks
		{m.Vision, "models.vision", "image descriptions", sections.Images},
		{m.Transcription, "models.transcription", "transcription", sections.Transcription},
		{m.Image, "models.image", "image generation", sections.Painting},
		{m.Speech.Slot, "models.speech", "speech", sections.Speech},
		{m.Embedding, "models.embedding", "semantic search", sections.Embeddings},
	}
}

// answers reports whether s is a model that answers.
func (s namedSlot) answers() bool {
	return s.path == "models.large" || strings.HasPrefix(s.path, "models.chat[")
}

// needless reports whether s is not needed: a large model with image input needs no descriptions.
func (s namedSlot) needless(c Config) bool {
	return s.does == "" || s.path == "models.vision" && c.Models.Large.Sees()
}

// noSlots lists in one line the tasks without a model. It returns "" if there are none, and with the demo model, whose
// limits are expected.
func (c Config) noSlots() string {
	var missing, keys []string
	for _, s := range c.slots() {
		if s.Model == "" && !s.needless(c) {
			missing, keys = append(missing, s.does), append(keys, s.path+".model")
		}
	}
	if len(missing) == 0 || c.LargeProvider() == ProviderDemo {
		return ""
	}
	return fmt.Sprintf("no model for %s: set %s", strings.Join(missing, ", "), strings.Join(keys, ", "))
}

// Off returns one line for each disabled part and how to enable it.
func (c Config) Off() []string {
	var lines []string
	for _, s := range c.sections() {
		if s.path == "providers.openai" && c.LargeProvider() != ProviderDemo {
			continue // another provider takes its place
		}
		if !s.given {
			lines = append(lines, fmt.Sprintf("%s is off%s: %s", s.name, s.without, s.howOn()))
		}
	}
	if line := c.noSlots(); line != "" {
		lines = append(lines, line)
	}
	return lines
}
