// Package sections is the common ground of package config and the packages whose sections it reads: the descriptor of a
// section, secrets, and common checks. So config knows no platform and no provider, and they don't depend on config.
package sections

import (
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"time"
)

// Section describes the section connectors.NAME of the configuration, or providers.NAME if it has abilities. After a
// configuration was read, Values points to the values of the section.
type Section struct {
	Name  string // the key; ids on the platform begin with it
	Title string // the platform's name for users
	About string // the description in the schema
	// Values points to a struct. Of its fields, the tag yaml is the key, the tag default the default, and the comment the
	// description in the schema. Values may be a [Checker].
	Values any
	// Secret is the key of the credentials, or of the address where none are needed. Its default is ${env:VARIABLE:-}.
	// Without it, the platform or provider is off.
	Secret string

	// Can lists the abilities of a provider's models. It is nil for chat platforms.
	Can []Ability
	// Without lists the parameters that requests to the provider don't have, by their keys in the configuration, and Efforts the
	// values of reasoning_effort that it has; nil means all.
	Without, Efforts []string
	// Budget is the least thinking_budget above 0 that requests to the provider have; 0 means that they have none.
	Budget int
	// Named means that a provider shares its credentials with another one: it is used only where a model names it.
	Named bool
	// Agents means that the models of a provider are agents, which only answer users: each can have an address of its own, and
	// needs no name.
	Agents bool

	// The forms of the platform's ids in the configuration.
	Account, Chat, World, Role ID
}

// Format prints the name only, because some verbs of package fmt would print the secrets that Values points to.
func (s Section) Format(f fmt.State, verb rune) { fmt.Fprintf(f, fmt.FormatString(f, verb), s.Name) }

var reference = regexp.MustCompile(`^\$\{env:(\w+)`)

// Variable returns the environment variable that the section's secret comes from by default; "" if there is none.
func (s Section) Variable() string { return s.variableOf(s.Secret) }

// Address returns the environment variable that the address of the provider's server comes from by default; "" if there is none.
func (s Section) Address() string { return s.variableOf("base_url") }

// variableOf returns the environment variable in the default of a key; "" if there is none.
func (s Section) variableOf(key string) string {
	fields := reflect.TypeOf(s.Values).Elem()
	for i := range fields.NumField() {
		tag := fields.Field(i).Tag
		if m := reference.FindStringSubmatch(tag.Get("default")); m != nil && tag.Get("yaml") == key {
			return m[1]
		}
	}
	return ""
}

// Ability is a task that models of a provider can do.
type Ability string

// The abilities.
const (
	Answers       Ability = "answers"
	Images        Ability = "image input"
	Transcription Ability = "transcription"
	Painting      Ability = "image generation"
	Speech        Ability = "speech"
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

const hidden = "***"

// Secret is text that is hidden when it is printed, logged or marshaled: as "***", or as "" if it is empty. Two uses would
// reveal it, so avoid them: printing a struct with a Secret in an unexported field, because fmt does not call methods of
// such fields, and marshaling a map with Secrets as keys as JSON.
type Secret string

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

// String hides the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return fmt.Sprintf("%q", s.String()) }

// Format hides the secret from every verb, including those that do not apply to text.
func (s Secret) Format(f fmt.State, verb rune) { fmt.Fprintf(f, fmt.FormatString(f, verb), s.String()) }

// MarshalText hides the secret from JSON, YAML, XML and flags. It never fails.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue hides the secret from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Reject reports a wrong value: its key, the problem as the end of a sentence, and the remedy. Keys are relative to the
// section, such as limits.edits. Only the first report about a value counts.
type Reject func(key, what, hint string)

// Pace rejects pauses between edits that are too short or too long to be useful.
func (r Reject) Pace(key string, t time.Duration) {
	if t < 100*time.Millisecond || t > time.Minute {
		r(key, "is not between 100ms and 1m", "set a duration, such as 1.1s")
	}
}

// Rate rejects a request rate below 1, because it would allow no request.
func (r Reject) Rate(key string, n int) {
	if n < 1 {
		r(key, "is less than 1", "nothing could be sent")
	}
}

// Limit rejects a limit below 0, which means none.
func (r Reject) Limit(key string, n int) {
	if n < 0 {
		r(key, "is negative", "set 0 for no limit")
	}
}

// URL rejects the address of a server that is not plain. Addresses are shown in logs, so they have no passwords and no
// parameters.
func (r Reject) URL(key, address string) {
	u, err := url.Parse(address)
	plain := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
		u.User == nil && u.RawQuery == "" && !u.ForceQuery && !strings.Contains(address, "#")
	if address != "" && !plain {
		r(key, "is not a plain server URL", "use http:// or https://, a host and optionally a path; keys don't belong in the URL")
	}
}

// Secret rejects a secret that does not match shape, and one with characters that would make a header or URL invalid,
// because the resulting error could contain it. A nil shape matches everything.
func (r Reject) Secret(key string, s Secret, shape *regexp.Regexp, hint string) {
	unfit := func(c rune) bool { return c <= ' ' || c > '~' }
	if s != "" && (strings.ContainsFunc(s.Reveal(), unfit) || shape != nil && !shape.MatchString(s.Reveal())) {
		r(key, "does not look like a token or key", hint)
	}
}
