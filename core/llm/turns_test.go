package llm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// LM-09: whatever a crash or a stop leaves, the next call of the model is valid.
func TestMended(t *testing.T) {
	user, said := Message{Role: RoleUser, Text: "Q"}, Message{Role: RoleAssistant, Text: "A"}
	calls := func(ids ...string) Message {
		t := Message{Role: RoleAssistant}
		for _, id := range ids {
			t.Calls = append(t.Calls, ToolCall{ID: id, Name: "DO"})
		}
		return t
	}
	result := func(id string) Message { return Message{Role: RoleTool, Call: id, Text: "done " + id} }
	cancelled := func(id string) Message { return Message{Role: RoleTool, Call: id, Text: cancelledResult} }
	between := Message{Role: RoleUser, Text: gap}
	for name, c := range map[string]struct{ turns, want []Message }{
		"nothing":              {nil, []Message{between}},
		"right":                {[]Message{user, calls("a", "b"), result("a"), result("b"), said, user}, []Message{user, calls("a", "b"), result("a"), result("b"), said, user}},
		"several questions":    {[]Message{user, user}, []Message{user, user}},
		"no result":            {[]Message{user, calls("a"), user}, []Message{user, calls("a"), cancelled("a"), user}},
		"one result of two":    {[]Message{user, calls("a", "b"), result("b")}, []Message{user, calls("a", "b"), cancelled("a"), result("b")}},
		"another order":        {[]Message{user, calls("a", "b"), result("b"), result("a")}, []Message{user, calls("a", "b"), result("a"), result("b")}},
		"a result too late":    {[]Message{user, calls("a"), user, result("a")}, []Message{user, calls("a"), cancelled("a"), user}},
		"a result of nothing":  {[]Message{user, result("a")}, []Message{user}},
		"a result twice":       {[]Message{user, calls("a"), result("a"), result("a")}, []Message{user, calls("a"), result("a")}},
		"a silent result":      {[]Message{user, calls("a"), {Role: RoleTool, Call: "a"}}, []Message{user, calls("a"), {Role: RoleTool, Call: "a", Text: silentResult}}},
		"one id twice":         {[]Message{user, calls("a", "a"), result("a")}, []Message{user, calls("a"), result("a")}},
		"empty turns":          {[]Message{{Role: RoleUser, Text: " "}, user, {Role: RoleAssistant, Text: "\n"}, user}, []Message{user, user}},
		"a picture":            {[]Message{{Role: RoleUser, Images: []File{{}}}}, []Message{{Role: RoleUser, Images: []File{{}}}}},
		"it begins with us":    {[]Message{said, user}, []Message{between, said, user}},
		"it ends with us":      {[]Message{user, said}, []Message{user, said, between}},
		"we say two things":    {[]Message{user, said, said, user}, []Message{user, {Role: RoleAssistant, Text: "A\n\nA"}, user}},
		"we say, then we call": {[]Message{user, said, calls("a"), result("a")}, []Message{user, {Role: RoleAssistant, Text: "A", Calls: calls("a").Calls}, result("a")}},
	} {
		if diff := cmp.Diff(c.want, NormalizeMessages(c.turns)); diff != "" {
			t.Errorf("%s: %s; want none", name, diff)
		}
	}
}

// FuzzMended: of any turns it makes valid ones, and of valid ones the same.
func FuzzMended(f *testing.F) {
	f.Add("uat")
	f.Add("uaAbtxc uu")
	f.Fuzz(func(t *testing.T, script string) {
		got := NormalizeMessages(turnsOf(script))
		if wrong := invalid(got); wrong != "" {
			t.Fatalf("%q: %s: %+v; want none", script, wrong, got)
		}
		if again := NormalizeMessages(got); !cmp.Equal(again, got) {
			t.Fatalf("%q changes again: %s", script, cmp.Diff(got, again))
		}
	})
}

// turnsOf makes turns of letters: u and a say something, A to C call with that id (again in the same turn if the next is
// one too), 1 to 3 are results, anything else is empty.
func turnsOf(script string) (turns []Message) {
	for i, c := range script {
		switch {
		case c == 'u':
			turns = append(turns, Message{Role: RoleUser, Text: fmt.Sprint("Q", i)})
		case c == 'a':
			turns = append(turns, Message{Role: RoleAssistant, Text: fmt.Sprint("A", i)})
		case 'A' <= c && c <= 'C':
			call := ToolCall{ID: string(c - 'A' + '1')}
			if n := len(turns); n > 0 && turns[n-1].Role == RoleAssistant {
				turns[n-1].Calls = append(turns[n-1].Calls, call)
			} else {
				turns = append(turns, Message{Role: RoleAssistant, Calls: []ToolCall{call}})
			}
		case '1' <= c && c <= '3':
			turns = append(turns, Message{Role: RoleTool, Call: string(c), Text: strings.Repeat("done", i%2)})
		default:
			turns = append(turns, Message{Role: []Role{RoleUser, RoleAssistant, RoleTool}[i%3], Text: " "})
		}
	}
	return turns
}

// invalid says what a provider would refuse.
func invalid(turns []Message) string {
	var owed []string
	before := RoleTool
	for _, t := range turns {
		switch {
		case len(owed) > 0 && (t.Role != RoleTool || t.Call != owed[0]):
			return "a call has no result"
		case len(owed) == 0 && t.Role == RoleTool:
			return "a result has no call"
		case strings.TrimSpace(t.Text) == "" && len(t.Calls) == 0:
			return "a turn is empty"
		case t.Role == RoleAssistant && before == RoleAssistant:
			return "the assistant speaks twice"
		}
		if t.Role == RoleTool {
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
	case len(turns) == 0 || turns[0].Role != RoleUser || before == RoleAssistant:
		return "the ends are wrong"
	}
	return ""
}
