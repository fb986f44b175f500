package partialjson_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/quick"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"parley/internal/partialjson"
	"parley/internal/require"
)

func read(pieces ...string) *partialjson.Reader {
	r := &partialjson.Reader{}
	for _, p := range pieces {
		r.Add(p)
	}
	return r
}

func TestWhatIsCertain(t *testing.T) {
	for text, want := range map[string]any{
		``:                         nil,
		` `:                        nil,
		`{`:                        map[string]any{},
		`{"a`:                      map[string]any{},
		`{"a":`:                    map[string]any{},
		`{"a":"`:                   map[string]any{"a": ""},
		`{"a":"x`:                  map[string]any{"a": "x"},
		`{"a":"x\`:                 map[string]any{"a": "x"},
		`{"a":"x\\n`:               map[string]any{"a": `x\n`},
		`{"a":"x\u00`:              map[string]any{"a": "x"},
		`{"a":"\t\/\u00e9`:         map[string]any{"a": "\t/é"},
		`{"a":"\ud83d`:             map[string]any{"a": ""}, // it may become one character with the next
		`{"a":"\ud83d\ude0`:        map[string]any{"a": ""},
		`{"a":"\ud83d\ude00`:       map[string]any{"a": "😀"},
		`{"a":"\ud83dx`:            map[string]any{"a": "\ufffdx"},
		`{"a":"\ude00`:             map[string]any{"a": "\ufffd"},
		`{"a":"\ud83d\ud83d\ude00`: map[string]any{"a": "\ufffd😀"},
		"{\"a\":\"caf\xc3":         map[string]any{"a": "caf"},
		"{\"a\":\"caf\xc3x":        map[string]any{"a": "caf\ufffdx"},
		`{"a":12`:                  map[string]any{}, // it may become 120
		`{"a":12,`:                 map[string]any{"a": 12.0},
		`{"a":-1.5e3 `:             map[string]any{"a": -1500.0},
		`{"a":tru`:                 map[string]any{},
		`{"a":true`:                map[string]any{"a": true},
		`{"a":null,"b":[`:          map[string]any{"a": nil, "b": []any{}},
		`[1,[2,{"x":["y`:           []any{1.0, []any{2.0, map[string]any{"x": []any{"y"}}}},
		`{"a":"{\"b\": 1"`:         map[string]any{"a": `{"b": 1`}, // what looks like a member is text
		`"x`:                       "x",
	} {
		bytewise := read(strings.Split(text, "")...)
		for _, r := range []*partialjson.Reader{read(text), bytewise} {
			if diff := cmp.Diff(want, r.Value()); diff != "" || r.Err() != nil || r.Complete() {
				t.Errorf("%s: %v, complete: %v\n%s", text, r.Err(), r.Complete(), diff)
			}
		}
	}
}

func TestWrong(t *testing.T) {
	for _, text := range []string{
		`}`, `{]`, `[}`, `{,`, `{"a"x`, `{"a":,`, `[1 2`, `{"a":1 "`, `[01,`, `[1.,`, `[-,`, `[1e999,`, `[trux`, `["\x`, `["\u00g`,
		"[\"a\nb", `{} {`, `[1],`, strings.Repeat("[", 10001),
	} {
		for _, r := range []*partialjson.Reader{read(text), read(strings.Split(text, "")...)} {
			if r.Err() == nil {
				t.Errorf("%.20q is read as %v", text, r.Value())
			}
			before := fmt.Sprint(r.Value())
			if r.Add(`"]}`); fmt.Sprint(r.Value()) != before || r.Complete() {
				t.Errorf("%.20q was read on", text)
			}
		}
	}
}

func TestNames(t *testing.T) {
	r := read(`{"b":1,"a":{"inner":2},"b":3,"unfinished`)
	if diff := cmp.Diff([]string{"b", "a"}, r.Names()); diff != "" {
		t.Error(diff)
	}
	if r.Object()["b"] != 3.0 || read(`[1,`).Object() != nil {
		t.Errorf("%v", r.Object())
	}
}

// FuzzPrefixes holds what is read of every prefix against encoding/json, and what is read of any pieces against what is
// read of the whole.
func FuzzPrefixes(f *testing.F) {
	for _, seed := range []string{
		`{"path":"a/b.txt","content":"line\nline \"two\"\t\u00e9\ud83d\ude00","n":-12.5e2,"ok":true,"no":false,"none":null}`,
		`{"deep":{"a":[1,[],{},[{"x":"y"}]],"b":""}}`, `[ "\ud83d", "\ud83d\ud83d\ude00", "\\ud83d" ] `, `"\ude00"`, `{"a":1,"a":"2"}`,
		"{\"caf\u00e9\":\"\U0001F600\"}", "[\"\xff\xc3\",1]", `[0,-0,1E5,1.50]`, ` { } `, strings.Repeat("[", 31) + "0+E",
	} {
		f.Add(seed, uint64(1))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		if len(text) > 300 {
			return
		}
		var whole any
		valid := json.Unmarshal([]byte(text), &whole) == nil
		rng := rand.New(rand.NewPCG(seed, 0))
		r, pieces := &partialjson.Reader{}, &partialjson.Reader{}
		for i, from := 0, 0; i < len(text); i++ {
			r.Add(text[i : i+1])
			if valid {
				if diff := differ(certain(text[:i+1]), r.Value()); diff != "" || r.Err() != nil {
					t.Fatalf("%q: %v\n%s", text[:i+1], r.Err(), diff)
				}
			}
			if rng.IntN(4) == 0 || i == len(text)-1 {
				pieces.Add(text[from : i+1])
				from = i + 1
				if diff := differ(r.Value(), pieces.Value()); diff != "" || (r.Err() == nil) != (pieces.Err() == nil) {
					t.Fatalf("%q in pieces: %v\n%s", text[:i+1], pieces.Err(), diff)
				}
			}
		}
		r.Add(" ") // ends a number
		if valid != r.Complete() {
			t.Fatalf("%q: valid %v, complete %v, %v", text, valid, r.Complete(), r.Err())
		}
		if diff := differ(whole, r.Value()); valid && diff != "" {
			t.Fatalf("%q\n%s", text, diff)
		}
	})
}

// differ says how two values differ. cmp.Diff takes twice as long for each array within an array.
func differ(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return fmt.Sprintf("want %#v\ngot  %#v", want, got)
}

// certain is what is certain of a prefix of valid JSON: the longest beginning of what is decided that can be closed.
func certain(prefix string) (v any) {
	for head := decided(prefix); head != ""; head = head[:len(head)-1] {
		closers, _ := closing(head)
		if json.Unmarshal([]byte(head+closers), &v) == nil {
			return v
		}
	}
	return nil
}

var (
	openNumber = regexp.MustCompile(`-?[0-9][-+.0-9eE]*$|-$`)
	tokens     = regexp.MustCompile(`(?s)\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u[0-9a-fA-F]{4}|\\[^u]|[^\\]|\\.*$`)
	openEscape = regexp.MustCompile(`^\\(u[0-9a-fA-F]{0,3})?$`)
	half       = regexp.MustCompile(`^\\u[dD][89abAB]..$`)
)

// decided is a prefix without an end that could still become something else.
func decided(prefix string) string {
	_, from := closing(prefix)
	if from < 0 {
		return openNumber.ReplaceAllString(prefix, "")
	}
	for i := 1; i <= min(3, len(prefix)); i++ {
		if end := prefix[len(prefix)-i:]; utf8.RuneStart(end[0]) && !utf8.FullRuneInString(end) {
			return prefix[:len(prefix)-i]
		}
	}
	said := tokens.FindAllString(prefix[from:], -1)
	if n := len(said); n > 0 && openEscape.MatchString(said[n-1]) {
		said = said[:n-1]
	}
	if n := len(said); n > 0 && half.MatchString(said[n-1]) {
		said = said[:n-1]
	}
	return prefix[:from] + strings.Join(said, "")
}

// closing is what closes the open string, objects and arrays of s, and where the open string begins, or -1.
func closing(s string) (closers string, from int) {
	from = -1
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case from >= 0 && c == '\\':
			i++
		case c == '"' && from >= 0:
			from = -1
		case c == '"':
			from = i + 1
		case from >= 0:
		case c == '{':
			closers = "}" + closers
		case c == '[':
			closers = "]" + closers
		case c == '}' || c == ']':
			closers = closers[1:]
		}
	}
	if from >= 0 {
		closers = `"` + closers
	}
	return closers, from
}

// TestLinear: what is read costs the same however it comes, in memory too.
func TestLinear(t *testing.T) {
	allocated := func(n int) float64 {
		long := `{"content":"` + strings.Repeat("text with \\\" and \\u00e9, ", n) + `"}`
		return testing.AllocsPerRun(1, func() {
			r := &partialjson.Reader{}
			for i := range len(long) {
				r.Add(long[i : i+1])
			}
			if !r.Complete() {
				t.Fatal(r.Err())
			}
		}) / float64(len(long))
	}
	if few, many := allocated(100), allocated(10_000); many > 2*few {
		t.Errorf("%.2f allocations for a byte of a short text, %.2f of a long one", few, many)
	}
}

// TestAnyValue reads values that encoding/json has written.
func TestAnyValue(t *testing.T) {
	err := quick.Check(func(a map[string]string, b []float64, c map[string][]bool) bool {
		text, err := json.Marshal(map[string]any{"a": a, "b": b, "c": c})
		if err != nil {
			return true
		}
		var want any
		_ = json.Unmarshal(text, &want)
		r := read(string(text))
		return r.Complete() && cmp.Equal(want, r.Value())
	}, nil)
	require.NoError(t, err)
}
