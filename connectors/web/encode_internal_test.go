package web

import (
	"encoding/json"
	"testing"
)

// FuzzAppendFrame: frames of text have the JSON that encoding/json writes.
func FuzzAppendFrame(f *testing.F) {
	for _, s := range []string{"", "word ", "a\n\n\"b\"\\ü👩‍👩‍👧\t", "<b>&\x00\x1f\r\b\f\x7f", "\u2028\u2029", "a\xff", "\ufffd", "x\n\u2028", "\xe2\x80"} {
		f.Add(s, s, true, true)
		f.Add(s, "", true, false)
		f.Add("", s, false, true)
	}
	f.Fuzz(func(t *testing.T, text, whole string, some, all bool) {
		frame := frame{Type: "token"}
		if some {
			frame.Text = &text
		}
		if all {
			frame.FullText = &whole
		}
		want, err := json.Marshal(frame)
		if err != nil {
			t.Fatal(err)
		}
		got, err := frame.append([]byte("data: "))
		if err != nil || string(got) != "data: "+string(want) {
			t.Errorf("%s, want %s; error %v", got, want, err)
		}
	})
}
