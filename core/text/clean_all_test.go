package text

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type name string

type nested struct {
	Name  name
	List  []string
	By    map[string]name
	Next  *nested
	Any   any
	Pair  [2]string
	Data  []byte
	At    time.Time
	inner string
}

func TestCleanAll(t *testing.T) {
	const bad, good = "a\x00b\xff", "ab\uFFFD"
	make := func(s string, data string) nested {
		return nested{Name: name(s), List: []string{"x", s}, By: map[string]name{"k": name(s), "l": "y"}, Pair: [2]string{"x", s},
			Next: &nested{Name: name(s), At: time.Unix(1, 0)}, Any: []any{1, s, map[string]any{"k": s}}, Data: []byte(data), At: time.Unix(2, 0), inner: "in"}
	}
	v, before := make(bad, bad), make(bad, bad)
	if diff := cmp.Diff(make(good, bad), CleanAll(v), cmp.AllowUnexported(nested{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, v, cmp.AllowUnexported(nested{})); diff != "" {
		t.Errorf("the value itself is modified: %s; want none", diff)
	}
	clean := make(good, good)
	if got := CleanAll(&clean); got != &clean {
		t.Error("a clean value is copied")
	}
	if got := CleanAll[any](bad); got != good {
		t.Errorf("%q; want %q", got, good)
	}
	if got := CleanAll[any](nil); got != nil {
		t.Errorf("%q", got)
	}
}

func TestCleanJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"b"}`:             `{"a":"b"}`,
		`{"a":"x\u0000y"}`:      `{"a":"xy"}`,
		`{"a":"x\\u0000y"}`:     `{"a":"x\\u0000y"}`,
		`{"a":"x\\\u0000y"}`:    `{"a":"x\\y"}`,
		`{"a":"\n\u0000\u0001`:  `{"a":"\n\u0001`,
		"{\"a\":\"\x00\xff\"}":  "{\"a\":\"\uFFFD\"}",
		`{"a\u0000":"\u0000"}\`: `{"a":""}\`,
	} {
		if got := CleanJSON(json.RawMessage(in)); string(got) != want {
			t.Errorf("%s becomes %s; want %s", in, got, want)
		}
	}
}
