package demo

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core"
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
		if !regexp.MustCompile(`^[A-Z]+(_[A-Z]+)*$`).MatchString(s.Name) || s.Description == "" || s.Effect != core.Reads {
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
		{"ROLL_DICE", `{"sides":1}`, "", "2 to 1000 sides"},
		{"ROLL_DICE", `{"count":1000000000}`, "", "at most 20 dice"},
		{"ROLL_DICE", `{"sides":"six"}`, "", "parameters"},
		{"TELL_TIME", `{}`, "Saturday, 1 January 2000, 00:00 UTC", ""},
		{"TELL_TIME", `{"zone":"Local"}`, "Saturday, 1 January 2000, 00:00 UTC", ""},
		{"TELL_TIME", `{"zone":"Moon/Tycho"}`, "", `no time zone "Moon/Tycho"`},
		{"PLAY_DEMO", `{"title":7}`, "", "parameters"},
	}
	synctest.Test(t, func(t *testing.T) { // whose clock begins with the year 2000
		for _, test := range tests {
			actions := New(highest).Actions
			i := slices.IndexFunc(actions, func(a core.Action) bool { return a.Spec().Name == test.name })
			got, err := actions[i].Act(t.Context(), &core.Call{Parameters: json.RawMessage(test.parameters)})
			if got.Text != test.want || (err != nil) != (test.fails != "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Errorf("%s %s: %q, %v", test.name, test.parameters, got.Text, err)
			}
		}
	})
}

func TestPlay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var shown []string
		r, err := play(t.Context(), "So *What*", func(s string) { shown = append(shown, s) })
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
		if _, err := play(ctx, "", func(s string) { shown = append(shown, s) }); err != stop || len(shown) != 2 {
			t.Errorf("%q, %v", shown, err)
		}
	})
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
			t.Errorf("%q: %q", title, got)
		}
	}
}
