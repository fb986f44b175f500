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
