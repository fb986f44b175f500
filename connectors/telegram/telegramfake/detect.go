package telegramfake

import "regexp"

// detect finds what clients mark in a text: commands, mentions, e-mail addresses and links. A rough port: enough to
// tell a mention from the middle of an address (TR-27).
func detect(text string) (out []Entity) {
	for _, d := range []struct{ kind, pattern string }{
		{"url", `\bhttps?://[^\s<>"]*[^\s<>".,!?)]`},
		{"email", `[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+\.[A-Za-z0-9.-]*[A-Za-z0-9]`},
		{"bot_command", `(?:^|[^\w/<>@])(/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?)\b`},
		{"mention", `(?:^|[^\pL\pN_])(@[A-Za-z][A-Za-z0-9_]{2,31})\b`},
	} {
		for _, m := range regexp.MustCompile(d.pattern).FindAllStringSubmatchIndex(text, -1) {
			from, to := m[len(m)-2], m[len(m)-1]
			e := Entity{Type: d.kind, Offset: units(text[:from]), Length: units(text[from:to])}
			if !meetsAny(out, e) {
				out = append(out, e)
			}
		}
	}
	sortEntities(out)
	return out
}

func meetsAny(list []Entity, e Entity) bool {
	for _, o := range list {
		if o.meets(e) {
			return true
		}
	}
	return false
}
