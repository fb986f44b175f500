package markdown

import (
	"strings"
	"testing"
)

// SE-21
func TestBreakMentions(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"hello":                       "hello",
		"@eve":                        "@|eve",
		"(@eve) @eve, @eve":           "(@|eve) @|eve, @|eve",
		"eve@example.com":             "eve@example.com",
		"a.b_c+d1@example.com":        "a.b_c+d1@example.com",
		"é@eve 漢@eve ٣@eve":           "é@eve 漢@eve ٣@eve",
		".@eve -@eve 🙂@eve @@eve":     ".@|eve -@|eve 🙂@|eve @@|eve",
		"5 @ 6, @, @é":                "5 @ 6, @, @é",
		"@":                           "@|",
		"@ada @ADA; @ada_ @ad @adam.": "@ada @ADA; @|ada_ @|ad @|adam.",
		"is it @ada":                  "is it @ada|",
		"@ada@eve":                    "@ada@eve",
		"@1eve @_eve":                 "@|1eve @|_eve",
		"/start@other_bot":            "/start@other_bot",
		"\xff@eve":                    "\xff@|eve",
	} {
		got := breakMentions(text, func(name string) bool { return strings.EqualFold(name, "ada") })
		if want := strings.ReplaceAll(want, "|", joiner); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// SE-21: only what is a link everywhere may hold an @name.
func TestSurelyLink(t *testing.T) {
	for address, want := range map[string]bool{
		"https://medium.com/@eve": true, "http://a.example/?q=@eve&b=1#c": true, "https://localhost/@eve": false,
		"https://a./@eve": false, "www.a.zzz/@eve": false, "ftp://a.example/@eve": false, "https://ä.example/@eve": false,
		"https://a.example/(@eve)": false, "https://a.example/«@eve": false, "tg://a.example/@eve": false, "@eve": false,
	} {
		if got := surelyLink(address); got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
}
