package wire

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// gram is the length of the pieces by which secrets are recognized, in bytes: long enough not to match words, short
// enough that half a key, as some servers quote it, is still covered.
const gram = 8

// short is the length below which a secret is only recognized as a whole: its pieces could be ordinary words, as in
// "ollama".
const short = 2 * gram

// redactor replaces secrets in texts: whole, in part, and in base64. Errors of servers and libraries can quote
// requests, including their headers, so all errors pass through it. The zero redactor knows no secrets. It is safe for
// concurrent use.
type redactor struct {
	pieces map[string]bool // of length gram
	words  []string        // shorter secrets, and their base64
}

func newRedactor(secrets ...string) redactor {
	r := redactor{pieces: map[string]bool{}}
	for _, s := range secrets {
		if len(s) < short {
			if len(s) > 3 { // less is no secret
				r.words = append(r.words, s, base64.StdEncoding.EncodeToString([]byte(s)))
			}
			continue
		}
		r.learn(s)
		for _, before := range []string{"", "x", "xx"} { // base64 depends on the position modulo 3, so on what precedes a secret, such as "user:"
			r.learn(base64.RawStdEncoding.EncodeToString([]byte(before + s)))
			r.learn(base64.RawURLEncoding.EncodeToString([]byte(before + s)))
		}
	}
	return r
}

// learn adds all pieces of s.
func (r redactor) learn(s string) {
	for i := 0; i+gram <= len(s); i++ {
		r.pieces[s[i:i+gram]] = true
	}
}

// clean returns text with "***" in place of each run of pieces of a secret.
func (r redactor) clean(text string) string {
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

// secretsOf returns what no error may show: the key, and the user info and query of the base URL, as written and as
// escaped.
func secretsOf(key string, base *url.URL) []string {
	secrets := []string{key}
	if user := base.User; user != nil {
		password, _ := user.Password()
		secrets = append(secrets, user.Username(), password, user.String())
		secrets = append(secrets, strings.Split(user.String(), ":")...) // as escaped
	}
	for _, values := range base.Query() {
		secrets = append(secrets, values...)
	}
	return secrets
}
