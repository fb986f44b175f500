package sections

import (
	"fmt"
	"log/slog"
)

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

// MarshalText hides the secret from JSON, YAML, XML and flags.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue hides the secret from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
