package wire

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// gram is the length of the pieces of a secret that are recognised: long enough not to hit words, short enough that
// half a key, as some servers quote it, is still covered.
const gram = 8

// short is the length below which a secret is only recognised whole, as its pieces are words ("ollama").
const short = 2 * gram

// redactor blots secrets out of text (SE-02): whole, in pieces, and in base64. The zero redactor knows none.
type redactor struct {
	pieces map[string]bool // of length gram
	words  []string        // shorter secrets, whole
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
		for _, before := range []string{"", "x", "xx"} { // what stands before a secret shifts its base64
			r.learn(base64.RawStdEncoding.EncodeToString([]byte(before + s)))
			r.learn(base64.RawURLEncoding.EncodeToString([]byte(before + s)))
		}
	}
	return r
}

func (r redactor) learn(s string) {
	for i := 0; i+gram <= len(s); i++ {
		r.pieces[s[i:i+gram]] = true
	}
}

// clean returns text with "***" for each stretch that belongs to a secret.
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

// secretsOf lists what no error may show: the key, and what a base URL says besides its place.
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
