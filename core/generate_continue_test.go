package core_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"parley/core/answer"
	"parley/core/generate"
	"parley/core/llm"
	"parley/internal/golden"
	"parley/internal/lang"
	"parley/internal/subtest"
)

// cutMark is what people read where an answer stays cut off.
const cutMark = "\n\n_(The answer was cut off by the model's length limit.)_"

// An answer that the model's length limit cuts off goes on as if it were of one piece, in both forms, and not forever.
func TestCutAnswerGoesOn(t *testing.T) {
	cut, end := finish(llm.FinishLength), finish(llm.FinishStop)
	down := fails(&llm.Failure{Kind: llm.RateLimited, Retry: true, Err: errDown})
	long := strings.Repeat(" and on", 40)
	for name, c := range map[string]struct {
		first string // of the answer
		rest  [][]step
		calls int
		said  string
	}{
		"in a word":            {"The qui", [][]step{{write("ck fo"), write("x."), end}}, 2, "The quick fox."},
		"between words":        {"The quick", [][]step{{write(" fox."), end}}, 2, "The quick fox."},
		"between paragraphs":   {"The fox.", [][]step{{write("\n\nThe "), write("dog."), end}}, 2, "The fox.\n\nThe dog."},
		"twice":                {"The", [][]step{{write(" quick"), cut}, {write(" fox."), end}}, 3, "The quick fox."},
		"forever":              {"The", [][]step{{write(" quick"), cut}, {write(" brown"), cut}, {write(" fox."), end}}, 3, "The quick brown" + cutMark},
		"not the first time":   {"The quick", [][]step{{down}, {write(" fox."), end}}, 3, "The quick fox."},
		"not at all":           {"The quick", [][]step{{down}, {down}, {down}}, 4, "The quick\n\n_(" + llm.RateLimited.Sentence(lang.Voice{}) + ")_"},
		"broken off":           {"The quick", [][]step{{write(long), down}}, 2, "The quick" + long + "\n\n_(" + llm.RateLimited.Sentence(lang.Voice{}) + ")_"},
		"nothing more":         {"The quick", [][]step{{end}, {end}}, 3, "The quick" + cutMark},
		"after thoughts":       {"The qui", [][]step{{write("\n<think>a secret</think>\n\nck fox."), end}}, 2, "The quick fox."},
		"with calls after all": {"The quick", [][]step{{write(" fox."), call(0, "c", "DO", "{}"), finish(llm.FinishCalls)}}, 2, "The quick fox."},
	} {
		for _, mode := range []generate.Mode{generate.Native, generate.XML} {
			t.Run(name+"/"+string(mode), subtest.Of(withHarness, func(w *harness) {
				w.cfg.Generation.Mode = mode
				do := &fakeAction{name: "DO"}
				w.addActions(do)
				first := c.first
				if mode == generate.XML {
					first = "<response><thought>a secret</thought><actions>REPLY</actions><text>" + first
				}
				w.model.queue([]step{write(first), cut})
				w.model.queue(c.rest...)
				acc := w.start().sendText("Tell me")
				if _, said := w.waitAnswer(acc); said != c.said || len(w.model.requests()) != c.calls || do.times() > 0 {
					w.Errorf("after %d calls and %d actions it said %q", len(w.model.requests()), do.times(), said)
				}
				w.wantNoTags()
			}))
		}
	}
}

// A rest that comes in the form, asked for or not, is no less a rest.
func TestRestInTheForm(t *testing.T) {
	for _, template := range []string{"", "{{partialAnswer}}\nAnswer with <response><text>the rest</text></response>."} {
		withHarness(t, func(w *harness) {
			w.useXML()
			w.cfg.Agent.Templates = map[string]string{"continueTemplate": template}
			w.model.queue([]step{write("<response><text>The qui"), finish(llm.FinishLength)},
				[]step{write("<response>\n<thought>a secret</thought>\n<text>ck"), finish(llm.FinishLength)},
				letters("<response>\n<thought>a secret</thought>\n<text> fox.</text>\n</response>"))
			w.wantAnswer(w.start().sendText("Tell me"), answer.Completed, "The quick fox.")
			w.wantNoTags()
		})
	}
}

// LM-04: where more than the text was cut off, nothing goes on; where nothing was, nothing has to.
func TestCutAnswerStays(t *testing.T) {
	for name, c := range map[string]struct {
		wrote []step
		said  string
	}{
		"in a call":      {[]step{write("I do it."), call(0, "c", "DO", "{"), finish(llm.FinishLength)}, "I do it." + cutMark},
		"in the actions": {[]step{write("<response><text>I do it.</text><actions>DO, D"), finish(llm.FinishLength)}, "I do it." + cutMark},
		"with actions":   {[]step{write("<response><actions>REPLY, DO</actions><text>I do"), finish(llm.FinishLength)}, "I do" + cutMark},
		"at the end":     {[]step{write("<response><text>I do it.</text></response>"), finish(llm.FinishLength)}, "I do it."},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.useXML()
			if name == "in a call" {
				w.cfg.Generation.Mode = generate.Native
			}
			do := &fakeAction{name: "DO"}
			w.addActions(do)
			w.model.queue(c.wrote)
			acc := w.start().sendText("Do it")
			if _, said := w.waitAnswer(acc); said != c.said || len(w.model.requests()) != 1 || do.times() > 0 {
				w.Errorf("after %d calls and %d actions it said %q", len(w.model.requests()), do.times(), said)
			}
			w.wantNoTags()
		}))
	}
}

// The rest is asked for with what the answer was made of, and with all that people have read of it.
func TestPromptOfTheRest(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.withProviders()
		w.addActions(shower("LOOK", "They sell <b>tea</b>. </results>"))
		w.model.queue(
			[]step{write("Let me see. "), call(0, "c", "LOOK", "{}"), finish(llm.FinishCalls)},
			[]step{write("There is te"), finish(llm.FinishLength)}, []step{write("a.")})
		w.wantAnswer(w.start().sendText("What do you have? </beginning>"), answer.Completed, "Let me see. \n\nLOOK\n\nThere is tea.")
		got := promptText(w.lastPrompt())
		golden.Check(t, "testdata/prompts/continue.txt", got)
		if strings.Count(got, "</beginning>") != 1 || strings.Count(got, "</results>") != 1 {
			t.Error("the prompt has its tags more than once; want one </beginning> and one </results>")
		}
	})
}

// The model always reads what it goes on with, whatever the character's template says.
func TestRestWithoutItsBeginning(t *testing.T) {
	for name, template := range map[string]string{
		"not named":  "Write the rest of the answer of {{agentName}}.",
		"named only": "Write the rest.{{#if partialAnswer}} There is a beginning.{{/if}}",
		"named":      "Go on: {{partialAnswer}}",
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.cfg.Agent.Templates = map[string]string{"continueTemplate": template}
			w.model.queue([]step{write("The qui</beginning>"), finish(llm.FinishLength)}, []step{write("ck fox.")})
			w.wantAnswer(w.start().sendText("Tell me"), answer.Completed, "The qui</beginning>ck fox.")
			got, own := promptText(w.lastPrompt()), 1
			if name == "named" { // nothing stands between tags
				own = 0
			}
			if strings.Count(got, "The qui") != 1 || strings.Count(got, "</beginning>") != 1 && own == 1 {
				w.Errorf("the model is asked %q", got)
			}
		}))
	}
}

// What a provider wants back goes with the calls of the same answer, and into nothing else: not into the next answer.
func TestOpaqueLivesWithinOneAnswer(t *testing.T) {
	withHarness(t, func(w *harness) {
		sealed := &llm.Opaque{Owner: "wire", Data: json.RawMessage(`"signature"`)}
		w.addActions(&fakeAction{name: "DO"})
		seal := func(context.Context) (*llm.Chunk, error) { return &llm.Chunk{Opaque: sealed}, nil }
		w.model.queue([]step{write("Wait."), call(0, "a", "DO", "{}"), seal, finish(llm.FinishCalls)}, []step{write("Done."), seal}, []step{write("Again.")})
		n := w.start()
		for _, text := range []string{"do it", "and now?"} {
			_, _, err := n.readAnswer(n.sendText(text).Run)
			w.Must(err)
		}
		if len(w.model.calls) != 3 {
			t.Fatalf("%d calls; want 3", len(w.model.calls))
		}
		for i, c := range w.model.calls {
			found := 0
			for _, m := range c.Messages {
				if m.Opaque != nil {
					found++
					if len(m.Calls) == 0 || m.Opaque != sealed {
						t.Errorf("call %d: it is in %+v", i, m)
					}
				}
			}
			if want := []int{0, 1, 0}[i]; found != want {
				t.Errorf("call %d has it %d times, want %d", i, found, want)
			}
		}
	})
}
