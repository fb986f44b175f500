package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/generate"
	"parley/core/llm"
	"parley/internal/lang"
	"parley/internal/subtest"
)

// answers are one answer in both modes, piece by piece.
func answers() map[generate.Mode][]step {
	return map[generate.Mode][]step{
		generate.Native: {write("<think>a "), write("secret</think>"), write("One "), write("two "), write("three."), finish(llm.FinishStop)},
		generate.XML: {
			write("<response><thought>a sec"), write("ret</thought><actions>REPLY</act"), write("ions><text>One "), write("two "), write("three.</te"),
			write("xt></response>"), finish(llm.FinishStop),
		},
	}
}

// LM-01, LM-02, LM-13: whatever happens after whichever piece, no text is repeated, and the budget of three calls is for all.
func TestFaultAtEachPiece(t *testing.T) {
	busy := &llm.Failure{Kind: llm.RateLimited, Retry: true, Err: errDown}
	gone := &llm.Failure{Kind: llm.NoProvider, Err: errDown}
	for mode, pieces := range answers() {
		for at := range len(pieces) + 1 {
			for name, f := range map[string]*llm.Failure{"busy": busy, "gone": gone} {
				t.Run(fmt.Sprintf("%s/%d/%s", mode, at, name), subtest.Of(withHarness, func(w *harness) {
					w.cfg.Generation.Mode = mode
					broken := append(slices.Clone(pieces[:at]), fails(f))
					w.model.queue(broken, broken, pieces, pieces)
					acc := w.start().sendText("A")
					_, said := w.waitAnswer(acc)
					whole := "One two three."
					text := strings.TrimSpace(strings.TrimSuffix(said, "_("+f.Kind.Sentence(lang.Voice{})+")_"))
					calls := len(w.model.requests())
					switch {
					case at == len(pieces), mode == generate.XML && at == len(pieces)-1: // it was all said: no user is asked again
						if said != whole || calls != 1 {
							w.Errorf("after %d calls it said %q; want %q and 1", calls, said, whole)
						}
					case strings.HasPrefix(said, "One"): // seen, and kept
						if calls != 1 && said != whole || calls == 1 && (text == said || !strings.HasPrefix(whole, text)) {
							w.Errorf("after %d calls it said %q", calls, said)
						}
					case f.Retry || said != f.Kind.Sentence(lang.Voice{}) || calls != 1:
						w.Errorf("after %d calls it said %q", calls, said)
					}
					if strings.Count(said, "One") > 1 || calls > 3 {
						w.Errorf("after %d calls it said %q", calls, said)
					}
					w.wantNoTags()
				}))
			}
		}
	}
}

// LM-04: parameters that are cut at any byte, however the answer then ends, are never used.
func TestCutParameters(t *testing.T) {
	const whole = `{"path":"/tmp/x","force":{"yes":true}}`
	for _, end := range []llm.FinishReason{llm.FinishCalls, llm.FinishLength, llm.FinishStop, ""} {
		for cut := range len(whole) + 1 {
			if end != llm.FinishCalls && cut%9 > 0 && cut < len(whole) {
				continue // the others end alike
			}
			withHarness(t, func(w *harness) {
				remove := &fakeAction{name: "DELETE", effect: action.Writes, schema: `{"type":"object","properties":{"path":{"type":"string"}}}`}
				w.addActions(remove)
				w.model.queue([]step{call(0, "c", "DELETE", whole[:cut]), finish(end)}, []step{write("Done.")})
				acc := w.start().sendText("Delete it")
				o, said := w.waitAnswer(acc)
				made := remove.times() > 0
				if want := cut == len(whole) && end != llm.FinishLength; made != want || !o.Done() {
					t.Errorf("%q, then %q: made %v, said %q", whole[:cut], end, made, said)
				}
				if limit := strings.Contains(said, "length limit"); limit != (end == llm.FinishLength) {
					t.Errorf("%q, then %q: said %q", whole[:cut], end, said)
				}
			})
		}
	}
}

// LM-05: whatever names and ids a model makes up, each call has one block and one result, and the run goes on.
func TestOddCalls(t *testing.T) {
	for name, c := range map[string]struct {
		script []step
		made   int
	}{
		"no name":             {[]step{call(0, "a", "", "{}")}, 0},
		"a name of its own":   {[]step{call(0, "a", "FLY", "{}")}, 0},
		"a name with NUL":     {[]step{call(0, "a", "DO\x00\xff", "{}")}, 0},
		"no id":               {[]step{call(0, "", "DO", "{}")}, 1},
		"one id twice":        {[]step{call(0, "a", "DO", "{}"), call(1, "a", "DO", "{}")}, 2},
		"an id of ours":       {[]step{call(0, "call-0", "DO", "{}"), call(1, "", "DO", "{}")}, 2},
		"null":                {[]step{call(0, "a", "DO", "null")}, 0},
		"a list":              {[]step{call(0, "a", "DO", "[]")}, 0},
		"nothing":             {[]step{call(0, "a", "DO", "")}, 1},
		"two objects":         {[]step{call(0, "a", "DO", "{}{}")}, 0},
		"written as text":     {[]step{write("<tool_call>{\"name\":\"DO\",\"argu"), write("ments\":{}}</tool_call>")}, 1},
		"cut, written":        {[]step{write("<tool_call>{\"name\":\"DO\",\"argu")}, 0},
		"an index far away":   {[]step{call(1000000, "a", "DO", "{}")}, 1},
		"after thoughts":      {[]step{write("<think>a secret"), call(0, "a", "DO", "{}")}, 1},
		"an empty piece":      {[]step{call(0, "a", "DO", "{}"), call(0, "", "", "")}, 1},
		"a second name later": {[]step{call(0, "a", "DO", "{"), call(0, "", "FLY", "}")}, 1},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			do := &fakeAction{name: "DO"}
			w.addActions(do)
			w.model.queue(c.script, []step{write("Done.")})
			acc := w.start().sendText("Do it")
			w.wantAnswer(acc, answer.Completed, "Done.")
			if do.times() != c.made {
				w.Errorf("made %d times; want %d", do.times(), c.made)
			}
			turns := w.model.requests()[1].Messages
			owed := map[string]bool{}
			for _, turn := range turns {
				for _, c := range turn.Calls {
					if owed[c.ID] || c.ID == "" {
						w.Errorf("the id %q is there twice, or none: %+v", c.ID, turns)
					}
					owed[c.ID] = true
				}
				if turn.Role == llm.RoleTool {
					delete(owed, turn.Call)
				}
			}
			if len(owed) > 0 {
				w.Errorf("calls without results: %+v", turns)
			}
		}))
	}
}

// LM-08: what a provider says of a prompt that is too long is told once, with a way out, and stays out of the next prompt.
func TestConversationTooLong(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		w.model.queue([]step{fails(&llm.Failure{Kind: llm.ConversationTooLong, Err: errDown})})
		acc := n.sendText("A")
		if o, said := w.waitAnswer(acc); o.Failure != llm.ConversationTooLong || !strings.Contains(said, "/new") || len(w.model.requests()) != 1 {
			t.Errorf("it ended as %+v, said %q", o, said)
		}
		w.wantAnswer(n.sendText("B"), answer.Completed, "You said: B")
		if texts := w.model.requests()[1].texts(); slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "/new") }) {
			t.Errorf("the next prompt holds %q", texts)
		}
	})
}
