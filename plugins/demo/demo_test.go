package demo

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core/action"
	"parley/core/action/actiontest"
	"parley/core/chat"
)

// highest makes each die show its highest face.
func highest(n int) int { return n - 1 }

func TestSpecs(t *testing.T) {
	var names []string
	for _, a := range New(nil).Actions {
		s := a.Spec()
		names = append(names, s.Name)
		var schema struct {
			Type       string
			Properties map[string]struct{ Type, Description string }
		}
		if err := json.Unmarshal(s.Parameters, &schema); err != nil || schema.Type != "object" || len(schema.Properties) == 0 {
			t.Errorf("%s: %v %+v", s.Name, err, schema)
		}
		for name, p := range schema.Properties {
			if p.Type == "" || p.Description == "" {
				t.Errorf("%s.%s: %+v", s.Name, name, p)
			}
		}
		if !regexp.MustCompile(`^[A-Z]+(_[A-Z]+)*$`).MatchString(s.Name) || s.Description == "" || s.Effect != action.Reads {
			t.Errorf("%+v", s)
		}
	}
	if diff := cmp.Diff([]string{"PLAY_DEMO", "ROLL_DICE", "TELL_TIME"}, names); diff != "" {
		t.Error(diff) // the demo model knows them by these names
	}
}

func TestActions(t *testing.T) {
	tests := []struct{ name, parameters, want, fails string }{
		{"ROLL_DICE", `{}`, "🎲 6", ""},
		{"ROLL_DICE", `{"sides":20,"count":3}`, "🎲 20 + 20 + 20 = 60", ""},
		{"ROLL_DICE", `{"sides":1}`, "", "sides: 1 is less than 2"},
		{"ROLL_DICE", `{"count":1000000000}`, "", "count: 1000000000 is greater than 20"},
		{"ROLL_DICE", `{"sides":"six"}`, "", "parameters"},
		{"TELL_TIME", `{}`, "Saturday, 1 January 2000, 00:00 UTC", ""},
		{"TELL_TIME", `{"zone":"Local"}`, "Saturday, 1 January 2000, 00:00 UTC", ""},
		{"TELL_TIME", `{"zone":"Moon/Tycho"}`, "", `no time zone "Moon/Tycho"`},
		{"PLAY_DEMO", `{"title":7}`, "", "parameters"},
	}
	synctest.Test(t, func(t *testing.T) { // whose clock begins with the year 2000
		for _, test := range tests {
			got := actiontest.Make(t, actiontest.Named(t, New(highest), test.name), actiontest.Call{Parameters: test.parameters})
			if got.Text != test.want || (got.Err != nil) != (test.fails != "") || got.Err != nil && !strings.Contains(got.Err.Error(), test.fails) {
				t.Errorf("%s %s: %q, %v", test.name, test.parameters, got.Text, got.Err)
			}
		}
	})
}

func TestPlay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var shown []string
		r, err := play(t.Context(), func(s string) { shown = append(shown, s) }, func() (string, error) { return "So *What*", nil })
		want := []string{"🔍 Looking up…", "🔍 Searching…", "✨ Setting up…", "Now playing: **So What**"}
		if diff := cmp.Diff(want, shown); diff != "" || err != nil || time.Since(start) != 3*step {
			t.Errorf("in %v, %v\n%s", time.Since(start), err, diff)
		}
		if r.Short != "Now playing: So What" {
			t.Errorf("%+v", r)
		}
	})
}

func TestPlayStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("enough")
		time.AfterFunc(step+step/2, func() { cancel(stop) })
		var shown []string
		if _, err := play(ctx, func(s string) { shown = append(shown, s) }, func() (string, error) { return "", nil }); err != stop || len(shown) != 2 {
			t.Errorf("%q, %v; want %v and 2", shown, err, stop)
		}
	})
}

// It asks only when that is requested, and a choice is optional.
func TestPlayAsks(t *testing.T) {
	for name, c := range map[string]struct {
		call  actiontest.Call
		asked int
		last  string
	}{
		"not at all":        {actiontest.Call{Parameters: `{}`}, 0, defaultTitle},
		"the first":         {actiontest.Call{Parameters: `{"choose":true}`, Chosen: []int{0}}, 1, defaultTitle},
		"the second":        {actiontest.Call{Parameters: `{"choose":true}`, Chosen: []int{1}}, 1, "So What"},
		"no choice":         {actiontest.Call{Parameters: `{"choose":true}`}, 1, defaultTitle},
		"it can't be asked": {actiontest.Call{Parameters: `{"choose":true}`, Unaskable: chat.ErrUnseen}, 0, defaultTitle},
	} {
		synctest.Test(t, func(t *testing.T) {
			made := actiontest.Make(t, actiontest.Named(t, New(nil), "PLAY_DEMO"), c.call)
			if made.Err != nil || len(made.Asked) != c.asked || made.Shown[len(made.Shown)-1] != "Now playing: **"+c.last+"**" {
				t.Errorf("%s: %q, asked %+v: %v", name, made.Shown, made.Asked, made.Err)
			}
		})
	}
}

func TestShown(t *testing.T) {
	for title, want := range map[string]string{
		"":                            defaultTitle,
		" ** ":                        defaultTitle,
		"a\nb\tc":                     "a b c",
		"[x](http://y.test) <script>": "x(http://y.test) script",
		strings.Repeat("ü", 100):      strings.Repeat("ü", 80) + "…",
	} {
		if got := shown(title); got != want {
			t.Errorf("%q: %q; want %q", title, got, want)
		}
	}
}
