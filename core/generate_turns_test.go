package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// LM-09: whatever a crash or a stop leaves, the next call of the model is valid.
func TestMended(t *testing.T) {
	user, said := ModelMessage{Role: User, Text: "Q"}, ModelMessage{Role: Assistant, Text: "A"}
	calls := func(ids ...string) ModelMessage {
		t := ModelMessage{Role: Assistant}
		for _, id := range ids {
			t.Calls = append(t.Calls, ToolCall{ID: id, Name: "DO"})
		}
		return t
	}
	result := func(id string) ModelMessage { return ModelMessage{Role: ToolRole, Call: id, Text: "done " + id} }
	cancelled := func(id string) ModelMessage { return ModelMessage{Role: ToolRole, Call: id, Text: cancelledResult} }
	between := ModelMessage{Role: User, Text: gap}
	for name, c := range map[string]struct{ turns, want []ModelMessage }{
		"nothing":              {nil, []ModelMessage{between}},
		"right":                {[]ModelMessage{user, calls("a", "b"), result("a"), result("b"), said, user}, []ModelMessage{user, calls("a", "b"), result("a"), result("b"), said, user}},
		"several questions":    {[]ModelMessage{user, user}, []ModelMessage{user, user}},
		"no result":            {[]ModelMessage{user, calls("a"), user}, []ModelMessage{user, calls("a"), cancelled("a"), user}},
		"one result of two":    {[]ModelMessage{user, calls("a", "b"), result("b")}, []ModelMessage{user, calls("a", "b"), cancelled("a"), result("b")}},
		"another order":        {[]ModelMessage{user, calls("a", "b"), result("b"), result("a")}, []ModelMessage{user, calls("a", "b"), result("a"), result("b")}},
		"a result too late":    {[]ModelMessage{user, calls("a"), user, result("a")}, []ModelMessage{user, calls("a"), cancelled("a"), user}},
		"a result of nothing":  {[]ModelMessage{user, result("a")}, []ModelMessage{user}},
		"a result twice":       {[]ModelMessage{user, calls("a"), result("a"), result("a")}, []ModelMessage{user, calls("a"), result("a")}},
		"a silent result":      {[]ModelMessage{user, calls("a"), {Role: ToolRole, Call: "a"}}, []ModelMessage{user, calls("a"), {Role: ToolRole, Call: "a", Text: silentResult}}},
		"one id twice":         {[]ModelMessage{user, calls("a", "a"), result("a")}, []ModelMessage{user, calls("a"), result("a")}},
		"empty turns":          {[]ModelMessage{{Role: User, Text: " "}, user, {Role: Assistant, Text: "\n"}, user}, []ModelMessage{user, user}},
		"a picture":            {[]ModelMessage{{Role: User, Images: []File{{}}}}, []ModelMessage{{Role: User, Images: []File{{}}}}},
		"it begins with us":    {[]ModelMessage{said, user}, []ModelMessage{between, said, user}},
		"it ends with us":      {[]ModelMessage{user, said}, []ModelMessage{user, said, between}},
		"we say two things":    {[]ModelMessage{user, said, said, user}, []ModelMessage{user, {Role: Assistant, Text: "A\n\nA"}, user}},
		"we say, then we call": {[]ModelMessage{user, said, calls("a"), result("a")}, []ModelMessage{user, {Role: Assistant, Text: "A", Calls: calls("a").Calls}, result("a")}},
	} {
		if diff := cmp.Diff(c.want, normalizeTurns(c.turns)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// FuzzMended: of any turns it makes valid ones, and of valid ones the same.
func FuzzMended(f *testing.F) {
	f.Add("uat")
	f.Add("uaAbtxc uu")
	f.Fuzz(func(t *testing.T, script string) {
		got := normalizeTurns(turnsOf(script))
		if wrong := invalid(got); wrong != "" {
			t.Fatalf("%q: %s: %+v", script, wrong, got)
		}
		if again := normalizeTurns(got); !cmp.Equal(again, got) {
			t.Fatalf("%q changes again: %s", script, cmp.Diff(got, again))
		}
	})
}

// turnsOf makes turns of letters: u and a say something, A to C call with that id (again in the same turn if the next is
// one too), 1 to 3 are results, anything else is empty.
func turnsOf(script string) (turns []ModelMessage) {
	for i, c := range script {
		switch {
		case c == 'u':
			turns = append(turns, ModelMessage{Role: User, Text: fmt.Sprint("Q", i)})
		case c == 'a':
			turns = append(turns, ModelMessage{Role: Assistant, Text: fmt.Sprint("A", i)})
		case 'A' <= c && c <= 'C':
			call := ToolCall{ID: string(c - 'A' + '1')}
			if n := len(turns); n > 0 && turns[n-1].Role == Assistant {
				turns[n-1].Calls = append(turns[n-1].Calls, call)
			} else {
				turns = append(turns, ModelMessage{Role: Assistant, Calls: []ToolCall{call}})
			}
		case '1' <= c && c <= '3':
			turns = append(turns, ModelMessage{Role: ToolRole, Call: string(c), Text: strings.Repeat("done", i%2)})
		default:
			turns = append(turns, ModelMessage{Role: []Role{User, Assistant, ToolRole}[i%3], Text: " "})
		}
	}
	return turns
}

// invalid says what a provider would refuse.
func invalid(turns []ModelMessage) string {
	var owed []string
	before := ToolRole
	for _, t := range turns {
		switch {
		case len(owed) > 0 && (t.Role != ToolRole || t.Call != owed[0]):
			return "a call has no result"
		case len(owed) == 0 && t.Role == ToolRole:
			return "a result has no call"
		case strings.TrimSpace(t.Text) == "" && len(t.Calls) == 0:
			return "a turn is empty"
		case t.Role == Assistant && before == Assistant:
			return "the assistant speaks twice"
		}
		if t.Role == ToolRole {
			owed = owed[1:]
		}
		for _, c := range t.Calls {
			if slices.Contains(owed, c.ID) {
				return "two calls have one id"
			}
			owed = append(owed, c.ID)
		}
		before = t.Role
	}
	switch {
	case len(owed) > 0:
		return "a call has no result"
	case len(turns) == 0 || turns[0].Role != User || before == Assistant:
		return "the ends are wrong"
	}
	return ""
}
