package record

import (
	"encoding/json"
	"fmt"
	"parley/internal/require"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is read without reflection is what encoding/json reads, also from texts that only look similar.
func TestContentIsReadAsJSON(t *testing.T) {
	for _, text := range []string{
		`{"actions":["REPLY"]}`, `{"actions":["REPLY","LOOK","REPLY"]}`, `{"actions":[]}`, `{"actions":["a\"b"]}`, `{"actions":["a\\"]}`, `{"actions":["é"]}`,
		`{"actions":["A"],"providers":["B"]}`, `{"thought":"x","actions":["A"]}`, `{"actions":["A",]}`, `{"actions":["A"`, `{"actions":["A" ]}`,
		`{"actions":["A"]} `, `{"actions":["A"]}x`, `{"actions":["A]}`, `{"actions":[1]}`, `{"actions":["\u0041"]}`, `{"actions":[""]}`, `{}`, `{`, "{\"actions\":[\"a\nb\"]}",
	} {
		check(t, text)
	}
}

func FuzzContent(f *testing.F) {
	f.Add(`["REPLY"]}`)
	f.Fuzz(func(t *testing.T, rest string) { check(t, `{"actions":`+rest) })
}

func check(t *testing.T, text string) {
	t.Helper()
	var want, got content
	wrong := json.Unmarshal([]byte(text), &want)
	err := (&contentColumn{into: &got}).ScanBytes([]byte(text))
	if (err == nil) != (wrong == nil) {
		t.Errorf("%s: the error is %v; want %v", text, err, wrong)
	}
	if diff := cmp.Diff(want, got); diff != "" && err == nil {
		t.Errorf("%s: %s", text, diff)
	}
}

// The lists of several rows are independent, although they share memory, and so is a row from the bytes it was read from.
func TestContentsAreIndependent(t *testing.T) {
	var c content
	column := contentColumn{into: &c}
	var all [][]string
	for n := range 100 {
		c = content{}
		text := []byte(fmt.Sprintf(`{"actions":["REPLY","A%d"]}`, n))
		if n%7 == 0 { // is given up after the first name
			text = []byte(fmt.Sprintf(`{"actions":["REPLY","A%d"],"thought":"x"}`, n))
		}
		require.NoError(t, column.ScanBytes(text))
		clear(text)
		all = append(all, append(c.Actions, "more"))
	}
	for n, got := range all {
		if want := fmt.Sprintf("REPLY A%d more", n); strings.Join(got, " ") != want {
			t.Errorf("row %d has %q", n, got)
		}
	}
}

// A value that comes again is the same, and one beyond those that are remembered is read, too.
func TestRepeatedValues(t *testing.T) {
	type id string
	var got id
	column := repeated[id]{into: &got}
	for n := range 40 {
		want := id(fmt.Sprint("author ", n%8))
		text := []byte(want)
		require.NoError(t, column.ScanBytes(text))
		clear(text)
		if got != want {
			t.Errorf("%d is %q; want %q", n, got, want)
		}
	}
	if err := column.Scan("x"); err != nil || got != "x" {
		t.Errorf(`it is %q, %v; want "x"`, got, err)
	}
	if err := column.Scan(nil); err == nil {
		t.Error("scanning NULL succeeded; want an error")
	}
}
