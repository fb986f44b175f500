package config

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"parley/internal/sections"
)

// Secret is text that is never printed.
type Secret = sections.Secret

const hidden = "***"

// DSN is the URL of a store or server, which can contain a password. Printed, logged or marshaled it shows scheme, host
// and path only.
type DSN string

// schemes are the prefixes that String can show. Any other text is hidden completely, because it could be a misplaced
// password.
var schemes = []string{
	"inmem", "redis", "rediss", "redis+cluster", "rediss+cluster", "redis+sentinel", "rediss+sentinel", "sqlite", "postgres", "postgresql",
}

// Reveal returns the whole address.
func (d DSN) Reveal() string { return string(d) }

// Scheme returns the text before the first colon, or "" if it is not a known scheme.
func (d DSN) Scheme() string {
	scheme, _, _ := strings.Cut(string(d), ":")
	if !slices.Contains(schemes, scheme) {
		return ""
	}
	return scheme
}

// String hides the user name, password and parameters. It parses the text by hand, because an unescaped / or # in a
// password would make net/url expose the rest.
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
