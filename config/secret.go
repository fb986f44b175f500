package config

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
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

// DSN is the address of a store or server, which may carry a password. Printed,
// logged or marshalled it shows scheme, host and path only.
type DSN string

// schemes are the beginnings that String may show; anything else is hidden
// whole, since it may be a password in the wrong place.
var schemes = []string{"inmem", "redis", "rediss", "sqlite"}

// Reveal returns the whole address.
func (d DSN) Reveal() string { return string(d) }

// Scheme returns what stands before the first colon, or "" when that is no known scheme.
func (d DSN) Scheme() string {
	scheme, _, _ := strings.Cut(string(d), ":")
	if !slices.Contains(schemes, scheme) {
		return ""
	}
	return scheme
}

// String hides name, password and parameters. It reads the text by hand: an
// unescaped / or # in a password would mislead net/url into showing its rest.
func (d DSN) String() string {
	if d == "" {
		return ""
	}
	scheme := d.Scheme()
	if scheme == "" {
		return hidden
	}
	rest, hierarchical := strings.CutPrefix(string(d[len(scheme)+1:]), "//")
	prefix := scheme + ":"
	if hierarchical {
		prefix += "//"
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = hidden + rest[at:]
	}
	if end := strings.IndexAny(rest, "?#"); end >= 0 {
		rest = rest[:end+1] + hidden
	}
	return prefix + rest
}

// GoString hides the password from %#v.
func (d DSN) GoString() string { return fmt.Sprintf("%q", d.String()) }

// Format hides the password from every verb.
func (d DSN) Format(f fmt.State, verb rune) { fmt.Fprintf(f, fmt.FormatString(f, verb), d.String()) }

// MarshalText hides the password from JSON, YAML, XML and flags.
func (d DSN) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// LogValue hides the password from slog.
func (d DSN) LogValue() slog.Value { return slog.StringValue(d.String()) }
