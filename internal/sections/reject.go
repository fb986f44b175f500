package sections

import (
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Reject reports a wrong value: its key, the problem as the end of a sentence, and the remedy. Keys are relative to the
// section, such as limits.edits. Only the first report about a value counts.
type Reject func(key, what, hint string)

// Pace rejects pauses between edits that are too short or too long to be useful.
func (r Reject) Pace(key string, t time.Duration) {
	if t < 100*time.Millisecond || t > time.Minute {
		r(key, "is not between 100ms and 1m", "set a duration, such as 1.1s")
	}
}

// Rate rejects a request rate below 1, with which nothing could be sent.
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
