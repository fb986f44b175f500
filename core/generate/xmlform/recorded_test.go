package xmlform

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"parley/internal/require"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden results")

// options are those that a recorded answer was asked for with.
func options(name string) Options {
	known := map[string]bool{"ROLL_DICE": true, "TELL_TIME": true, "WRITE_NOTE": true}
	return Options{Tags: strings.HasPrefix(filepath.Base(name), "form"), Known: func(name string) bool { return known[name] }, Permit: all}
}

type recorded struct {
	Text   string
	Result Result
}

// LM-10, LM-11: what models write in life gives one result, however the wire cuts it.
func TestRecordedAnswers(t *testing.T) {
	files, err := filepath.Glob("testdata/answers/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no recordings")
	}
	random := rand.New(rand.NewPCG(1, 2))
	const chunkings = 10_000
	for _, name := range files {
		raw := require.Value(os.ReadFile(name))(t)
		var got recorded
		got.Text, got.Result = read(options(name), string(raw))
		golden(t, strings.TrimSuffix(name, ".txt")+".json", got)
		for range chunkings / len(files) {
			pieces := cut(random, string(raw))
			if text, r := read(options(name), pieces...); text != got.Text || !reflect.DeepEqual(r, got.Result) {
				t.Fatalf("%s: cut as %q: %q %+v; want %q and %+v", name, pieces, text, r, got.Text, got.Result)
			}
		}
	}
}

func golden(t *testing.T, name string, got recorded) {
	t.Helper()
	if *update {
		raw, err := json.MarshalIndent(got, "", "  ")
		if err == nil {
			err = os.WriteFile(name, append(raw, '\n'), 0o644)
		}
		require.NoError(t, err)
	}
	raw := require.Value(os.ReadFile(name))(t)
	var want recorded
	require.NoError(t, json.Unmarshal(raw, &want))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s; want none", name, diff)
	}
}

// cut makes pieces of very different lengths, also within characters.
func cut(random *rand.Rand, text string) (pieces []string) {
	most := 1 << random.IntN(8)
	for text != "" {
		n := min(len(text), 1+random.IntN(most))
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	return pieces
}

// FuzzScanner: one result for every chunking, only whole characters, and nothing vanishes without being counted.
func FuzzScanner(f *testing.F) {
	files, _ := filepath.Glob("testdata/answers/*.txt")
	for _, name := range files {
		raw := require.Value(os.ReadFile(name))(f)
		f.Add(string(raw), strings.HasPrefix(filepath.Base(name), "form"), uint64(len(raw)))
	}
	for _, text := range []string{"<think>a¤", "<response><text>`</text>¤", "<text>x<thought>¤</text>", "{\"name\":\"A\"¤", "<tool_call>{¤\xff", "```\n<text>¤</text></response>"} {
		f.Add(text, true, uint64(1))
		f.Add(text, false, uint64(2))
	}
	f.Fuzz(func(t *testing.T, text string, tags bool, seed uint64) {
		opt := Options{Tags: tags, Known: func(name string) bool { return len(name)%2 == 1 }, Permit: func(calls []Call, raw string) bool { return len(raw)%2 == 1 }}
		said, r := read(opt, text)
		if again, other := read(opt, cut(rand.New(rand.NewPCG(seed, 0)), text)...); again != said || !reflect.DeepEqual(r, other) {
			t.Fatalf("%q\nwhole: %q %+v\n  cut: %q %+v", text, said, r, again, other)
		}
		for _, s := range []string{said, r.Thought} {
			if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
				t.Fatalf("%q gives %q", text, s)
			}
		}
		missing := strings.Count(text, "¤") - strings.Count(said, "¤") - strings.Count(r.Thought, "¤")
		if missing != 0 && r.Odd+r.Lost+len(r.Calls)+len(r.Providers) == 0 {
			t.Fatalf("%q: %d characters vanish: %q %+v", text, missing, said, r)
		}
		if !tags && len(r.Calls) > 0 && strings.TrimSpace(said) != "" {
			t.Fatalf("%q: %+v are not the whole answer: %q", text, r.Calls, said)
		}
		if !strings.ContainsAny(text, "<{`\x00") && utf8.ValidString(text) && strings.TrimSpace(said) != strings.TrimSpace(text) {
			t.Fatalf("%q is plain and becomes %q", text, said)
		}
	})
}

// Time grows with the text alone: with its square, this would not end.
func TestHostileTexts(t *testing.T) {
	for _, piece := range []string{
		"<", "<te", "<text>", "</text>", "`</text>", "`</text> ", " ", "\n", "<think>", "<think>\n<think>", "</think>", "<tool_call>{", "<tool_call>{\"</tool_call>",
		"<text>x<thought>", "<thought>x<text>", "<actions><action>", "<actions>{\"", "</params>", "{\"name\":\"ROLL_DICE\"", "\xff", "<function=ROLL_DICE>", "<action ", "```",
	} {
		for _, opt := range []Options{options("form"), options("native")} {
			s := New(opt)
			for range 300 {
				_ = s.Write(strings.Repeat(piece, 100))
			}
			s.Close(false)
		}
	}
}
