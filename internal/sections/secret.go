package sections

import (
	"fmt"
	"log/slog"
)

const hidden = "***"

// Secret is text that must not be seen: printed, logged or marshalled it is
// "***", or "" when it is empty. Two uses get around that, so avoid them: printing
// a struct that keeps one in an unexported field (fmt does not ask such fields for
// their methods), and a map with secrets as keys, marshalled as JSON.
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

// Format hides the secret from every verb, also from those that do not fit text.
func (s Secret) Format(f fmt.State, verb rune) { fmt.Fprintf(f, fmt.FormatString(f, verb), s.String()) }

// MarshalText hides the secret from JSON, YAML, XML and flags.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue hides the secret from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
