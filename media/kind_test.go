package media

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPlainText(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"ASCII":              {"hello", "hello"},
		"UTF-8":              {"grüß 世界", "grüß 世界"},
		"UTF-8 with a mark":  {"\xef\xbb\xbfhi", "hi"},
		"UTF-8, cut":         {"grüß \xe4\xb8", "grüß "},
		"UTF-16, little end": {"\xff\xfeh\x00i\x00", "hi"},
		"UTF-16, big end":    {"\xfe\xff\x00h\x00i", "hi"},
		"UTF-16, odd":        {"\xff\xfeh\x00i", "h"},
		"UTF-16, pairs":      {"\xff\xfe\x3d\xd8\x00\xde", "😀"},
		"Windows":            {"\x93gr\xfc\xdf\x94 \x80", "“grüß” €"},
		"windows-1251":       {"\xcc\xe0\xe3\xe0\xe7\xe8\xed \xee\xf2\xea\xf0\xfb\xf2", "Магазин открыт"},
		"UTF-16, no mark":    {"h\x00e\x00l\x00l\x00o\x00", "hello"},
		"nothing":            {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := plainText([]byte(c.data)); got != c.want || err != nil {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"hello", "\xff\xfeh", "\xef\xbb\xbf", "\x93\xfc", "\x00", "世"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := plainText(data)
		if err != nil && (err != garbled || text != "") {
			t.Fatal(err)
		}
		if text = capped(text); !utf8.ValidString(text) || strings.ContainsRune(text, 0) || utf8.RuneCountInString(text) > maxText+50 {
			t.Errorf("%q", text)
		}
	})
}

// FuzzPicture: headers are other people's.
func FuzzPicture(f *testing.F) {
	for _, kind := range []string{"VP8 ", "VP8L", "VP8X", "ALPH"} {
		f.Add(webp(kind, 9, 9))
	}
	f.Add(png(9, 9))
	f.Fuzz(func(_ *testing.T, data []byte) {
		_ = checkPicture(data) // doesn't break, and takes no memory
		_ = detectKind(data, document)
	})
}
