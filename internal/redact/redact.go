// Package redact removes secrets from texts that come from outside, such as the errors of servers, which can quote the
// request that they refuse. Every error that has such a text passes through it before users, the model or the log get
// it.
package redact

import (
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strings"
)

// gram is the length of the pieces that identify a secret, in bytes: long enough not to match words, short
// enough that half a key, as some servers quote it, is still covered.
const gram = 8

// short is the length below which a secret is only recognized as a whole: its pieces could be ordinary words, as in
// "ollama".
const short = 2 * gram

// Redactor replaces secrets in texts: whole, in part, and in base64. The zero Redactor knows no secrets. It is safe for
// concurrent use.
type Redactor struct {
	pieces map[string]bool // of length gram
	words  []string        // recognized as a whole only, the longest first
}

// New returns a Redactor for secrets. Those of less than four bytes are ignored.
func New(secrets ...string) Redactor {
	r := Redactor{pieces: map[string]bool{}}
	for _, s := range secrets {
		if len(s) < short {
			r.whole(s)
			continue
		}
		r.learn(s)
		r.learn(url.QueryEscape(s))
		r.learn(url.PathEscape(s))
		for _, before := range []string{"", "x", "xx"} { // base64 depends on the position modulo 3, so on what precedes a secret, such as "user:"
			r.learn(base64.RawStdEncoding.EncodeToString([]byte(before + s)))
			r.learn(base64.RawURLEncoding.EncodeToString([]byte(before + s)))
		}
	}
	r.sort()
	return r
}

// Settings returns a Redactor for secrets and for the values of settings, such as headers and environment variables.
// These can be secrets too, so they are replaced; but the pieces of a path or a sentence are ordinary words.
func Settings(values []string, secrets ...string) Redactor {
	var ordinary []string
	for _, v := range values {
		u, err := url.Parse(v)
		fields := strings.Fields(v)
		switch {
		case err == nil && u.Host != "":
			ordinary, secrets = append(ordinary, v), append(secrets, Address(u)...)
		case len(fields) > 2, strings.HasPrefix(v, "/"), strings.HasPrefix(v, "."):
			ordinary = append(ordinary, v)
		case len(fields) == 2: // such as "Bearer" and a token
			secrets = append(secrets, fields[1])
			if decoded, err := base64.StdEncoding.DecodeString(fields[1]); err == nil && fields[0] == "Basic" {
				user, password, _ := strings.Cut(string(decoded), ":")
				secrets = append(secrets, user, password)
			}
		default:
			secrets = append(secrets, v)
		}
	}
	r := New(secrets...)
	for _, v := range ordinary {
		r.whole(v)
	}
	r.sort()
	return r
}

// Address returns the secret parts of an address, as written and as escaped: its user, its password, and the values of
// its query.
func Address(u *url.URL) (secrets []string) {
	if u == nil {
		return nil
	}
	if user := u.User; user != nil {
		password, _ := user.Password()
		secrets = append(secrets, user.Username(), password, user.String())
		secrets = append(secrets, strings.Split(user.String(), ":")...) // as escaped
	}
	for _, pair := range strings.Split(u.RawQuery, "&") {
		_, raw, _ := strings.Cut(pair, "=")
		secrets = append(secrets, raw)
	}
	for _, values := range u.Query() {
		secrets = append(secrets, values...)
	}
	return secrets
}

// whole adds s, to be recognized as a whole only, and its base64.
func (r *Redactor) whole(s string) {
	if len(s) > 3 { // less is no secret
		r.words = append(r.words, s, url.QueryEscape(s), base64.StdEncoding.EncodeToString([]byte(s)))
	}
}

// sort puts the longest word first: one can be a part of another.
func (r *Redactor) sort() {
	slices.SortStableFunc(r.words, func(a, b string) int { return len(b) - len(a) })
}

// learn adds all pieces of s.
func (r Redactor) learn(s string) {
	for i := 0; i+gram <= len(s); i++ {
		r.pieces[s[i:i+gram]] = true
	}
}

// Error returns err if its text has no secrets, or else an error with that text without them. That one wraps nothing: a
// %+v or a type switch could print the original.
func (r Redactor) Error(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if clean := r.Clean(text); clean != text {
		return errors.New(clean)
	}
	return err
}

// Clean returns text with "***" in place of each secret and of each run of pieces of one.
func (r Redactor) Clean(text string) string {
	for _, w := range r.words {
		text = strings.ReplaceAll(text, w, "***")
	}
	var b strings.Builder
	end := 0 // of the last stretch
	for i := 0; i+gram <= len(text); i++ {
		if !r.pieces[text[i:i+gram]] {
			continue
		}
		if end == 0 || i > end {
			b.WriteString(text[end:i] + "***")
		}
		end = i + gram
	}
	b.WriteString(text[end:])
	return b.String()
}
