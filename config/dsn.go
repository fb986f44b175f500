package config

import (
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
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

// query is the beginning of an address's parameters.
var query = regexp.MustCompile(`\?[A-Za-z][A-Za-z0-9_.-]*=`)

// hasUnsafeCharacters reports whether the user or the password has characters that make the drivers read it otherwise: the text
// after such a character would count as a part of the host or the path, and appear in errors. These
// characters differ between the drivers of PostgreSQL and Redis.
func (d DSN) hasUnsafeCharacters() bool {
	scheme := d.Scheme()
	rest, ok := strings.CutPrefix(strings.TrimPrefix(string(d), scheme), "://")
	meant := "/ @"
	switch {
	case strings.HasPrefix(scheme, "redis"):
		meant = "/ #?"
	case !strings.HasPrefix(scheme, "postgres"):
		return false
	}
	if at := query.FindStringIndex(rest); at != nil {
		rest = rest[:at[0]]
	}
	at := strings.LastIndexByte(rest, '@')
	if !ok || at < 0 {
		return false
	}
	_, err := url.PathUnescape(rest[:at])
	return err != nil || strings.ContainsAny(rest[:at], meant)
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

// MarshalText hides the password from JSON, YAML, XML and flags. It never fails.
func (d DSN) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// LogValue hides the password from slog.
func (d DSN) LogValue() slog.Value { return slog.StringValue(d.String()) }
