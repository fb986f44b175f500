package connectors_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"parley/connectors"
)

// SE-05: what a name holds stays within the name.
func TestFileName(t *testing.T) {
	for name, want := range map[string]string{
		"report.pdf":               "report.pdf",
		"Bericht für Zoë 😀.pdf":    "Bericht für Zoë 😀.pdf",
		"a\"; filename=\"b.exe":    "a_; filename=_b.exe",
		"a\r\nX-Evil: 1\r\n\r\n.c": "a__X-Evil: 1____.c",
		"../../etc/passwd":         ".._.._etc_passwd",
		`C:\a.txt`:                 "C:_a.txt",
		"photo\u202egpj.exe":       "photo_gpj.exe",
		"bad\xffbytes":             "bad_bytes",
		"":                         "file",
		" . ":                      "file",
		"\n":                       "file",
	} {
		if got := connectors.FileName(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
	long := connectors.FileName(strings.Repeat("é", 300) + ".jpeg")
	if len(long) > 180 || len(long) < 170 || !utf8.ValidString(long) || !strings.HasSuffix(long, "é.jpeg") {
		t.Errorf("a long name has %d bytes: %q", len(long), long)
	}
}
