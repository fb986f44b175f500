// Package sections is what package config shares with the packages whose sections it reads: the descriptor of a
// section, secrets, and common checks. So config knows no platform and no provider, and they don't depend on config.
package sections

import "fmt"

// Section describes the section connectors.NAME of the configuration, or providers.NAME if it has abilities. After a
// configuration was read, Values points to what it contains.
type Section struct {
	Name  string // the key; ids on the platform begin with it
	Title string // what users call the platform
	About string // the description in the schema
	// Values points to a struct. Of its fields, the tag yaml is the key, the tag default the default, and the comment the
	// description in the schema. One field of platforms is `Enabled *bool` with the key enabled. Values may be a [Checker].
	Values any
	// Secret is the key of the credentials, or of the address where none are needed. Its default is ${env:VARIABLE:-}.
	// Without it, the platform or provider is off.
	Secret string

	// Can lists what the models of a provider can do. It is nil for chat platforms.
	Can []Ability
	// Without lists the parameters that requests to the provider don't have, by their keys in the configuration, and Efforts the
	// values of reasoning_effort that it has; nil means all.
	Without, Efforts []string
	// Budget is the least thinking_budget above 0 that requests to the provider have; 0 means that they have none.
	Budget int
	// Named means that a provider shares its credentials with another one: it is used only where a model names it.
	Named bool
	// Agents means that the models of a provider are agents, which only answer people: each can have an address of its own, and
	// needs no name.
	Agents bool

	// How the configuration names what is on the platform.
	Account, Chat, World, Role ID
}

// Format prints the name only, because some verbs of package fmt would print the secrets that Values points to.
func (s Section) Format(f fmt.State, verb rune) { fmt.Fprintf(f, fmt.FormatString(f, verb), s.Name) }

// Ability is a task that models of a provider can do.
type Ability string

// The abilities.
const (
	Answers       Ability = "answers"
	Images        Ability = "image input"
	Transcription Ability = "transcription"
	Painting      Ability = "image generation"
	Embeddings    Ability = "embeddings"
)

// ID is the form of ids of one kind on a platform, without the name of the platform and the colon. The zero value means
// that it has none.
type ID struct {
	Pattern string // a regular expression for the whole id
	Example string
}

// Checker is implemented by values of a section that can be well-formed and still wrong.
type Checker interface {
	// Check calls reject for each wrong value.
	Check(reject Reject)
}
