package telegramfake_test

import (
	"fmt"
	"slices"
	"testing"
)

// SE-21: who is notified, by whatever a bot may write.
func TestPings(t *testing.T) {
	for text, want := range map[string][]string{
		"hello":          nil,
		"@eve, @someone": {"eve", "someone"},
		"ada@eve.example, @\u2060eve, @\u200beve":        nil,
		"<code>@eve</code> <pre>@eve</pre>":              nil,
		`<a href="https://a.example">@eve</a>`:           nil,
		"https://a.example/@eve":                         nil,
		"<b>@</b>eve":                                    {"eve"},
		`<a href="tg://user?id=42">you</a>`:              {"42"},
		`<a href="tg://resolve?domain=evelyn">there</a>`: nil,
		"mail.@eve, é@eve":                               {"eve"},
		"@ada":                                           {"ada asked"},
	} {
		bubble(t, func(t *testing.T, b *bot) {
			ada := b.AddUser("Ada", "ada")
			b.AddUser("Eve", "eve")
			c := b.AddPrivate(ada)
			b.Say(c, ada, "hello")
			b.ok("sendMessage", params{"chat_id": c.ID, "text": text, "parse_mode": "HTML"})
			var got []string
			for _, p := range b.Pings() {
				name := p.Name
				if name == "" {
					name = fmt.Sprint(p.User)
				}
				if p.Asked {
					name += " asked"
				}
				got = append(got, name)
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s notifies %q, want %q", text, got, want)
			}
		})
	}
}
