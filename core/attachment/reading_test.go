package attachment_test

import (
	"strings"
	"testing"

	"parley/core/attachment"
	"parley/core/chat"
)

func TestLinks(t *testing.T) {
	for text, want := range map[string]string{
		"nothing":                                                                 "",
		"http://a.example is not safe":                                            "",
		"See https://a.example/b?c=d#e.":                                          "https://a.example/b?c=d",
		"(https://a.example), **https://b.example/c_d**":                          "https://a.example https://b.example/c_d",
		"https://a.example https://a.example":                                     "https://a.example",
		"https://ada:secret@a.example/":                                           "",
		"[a](https://a.example/x) and <https://b.example>":                        "https://a.example/x https://b.example",
		"https://1.example https://2.example https://3.example https://4.example": "https://1.example https://2.example https://3.example",
		"https://a.example/" + strings.Repeat("x", chat.MaxOwn):                   "",
		"见https://a.example。再见（https://b.example/文档）":                             "https://a.example https://b.example/%E6%96%87%E6%A1%A3",
		"„https://a.example/x“ «https://b.example»":                               "https://a.example/x https://b.example",
		"https://":  "",
		"https://%": "",
	} {
		var found []string
		for _, page := range attachment.Links(text) {
			found = append(found, page.Ref)
			if !page.Link || page.Read() || strings.Contains(page.Name, "?") {
				t.Errorf("%q: %+v", text, page)
			}
		}
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%q links to %q, want %q", text, got, want)
		}
	}
}
