package core_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/generate"
	"parley/core/llm"
	"parley/internal/lang"
	"parley/internal/subtest"
)

// useXML makes the next processes ask for the form.
func (w *harness) useXML() { w.cfg.Generation.Mode = generate.XML }

// storedAnswer is what is stored of an answer.
func (w *harness) storedAnswer(acc chat.Accepted) chat.Memory {
	w.Helper()
	m, err := w.Store.Memory(w.Context(), w.run(acc).Said())
	if !errors.Is(err, chat.ErrNotFound) {
		w.Must(err)
	}
	return m
}

// wantNoTags fails if anybody has seen a tag of the form at any time.
func (w *harness) wantNoTags() {
	w.Helper()
	for _, r := range w.chat.requests {
		for _, tag := range []string{"<response", "<thought", "<actions", "<text", "</", "<think", "secret"} {
			if strings.Contains(fmt.Sprint(r), tag) {
				w.Errorf("a tag was shown: %+v", r)
			}
		}
	}
}

// letters writes s one byte after the other, with time to show each.
func letters(s string) (all []step) {
	for i := range len(s) {
		all = append(all, write(s[i:i+1]))
		if i%7 == 0 {
			all = append(all, pause(300*time.Millisecond))
		}
	}
	return all
}

// A model that is asked for tags and one that calls tools give the same answer.
func TestModesGiveTheSameAnswer(t *testing.T) {
	dice := `{"sides":6,"note":"a, b"}`
	modes := map[generate.Mode][][]step{
		generate.Native: {
			append(letters("<think>a secret plan</think>Let me roll."), call(0, "call-0", "ROLL", dice[:9]), call(0, "", "", dice[9:]), finish(llm.FinishCalls)),
			append(letters("You got 4 & I am glad."), finish(llm.FinishStop)),
		},
		generate.XML: {
			append(letters("<response><thought>a secret plan</thought><actions>REPLY,<action name=\"ROLL\"><params>"+dice+"</params></action></actions>"+
				"<providers></providers><text>Let me roll.</text></response>"), finish(llm.FinishStop)),
			append(letters("<response><text>You got 4 & I am glad.</text></response>"), finish(llm.FinishStop)),
		},
	}
	var memories []chat.Memory
	var views []answer.View
	for _, mode := range []generate.Mode{generate.Native, generate.XML} {
		t.Run(string(mode), subtest.Of(withHarness, func(w *harness) {
			w.cfg.Generation.Mode = mode
			roll := &fakeAction{name: "ROLL", do: func(_ context.Context, c *action.Call) (action.Result, error) {
				c.Update("🎲 rolling " + string(c.Parameters))
				return action.Result{Text: "4"}, nil
			}}
			w.addActions(roll)
			w.model.queue(modes[mode]...)
			n := w.start()
			acc := n.sendText("Roll a die")
			w.wantAnswer(acc, answer.Completed, "Let me roll.\n\n🎲 rolling "+dice+"\n\nYou got 4 & I am glad.")
			m := w.storedAnswer(acc)
			m.At = time.Time{}
			memories = append(memories, m)
			_, v, err := n.readAnswer(acc.Run)
			w.Must(err)
			v.Outcome = plain(v.Outcome)
			views = append(views, v)
			w.wantNoTags()
		}))
	}
	if diff := cmp.Diff(memories[0], memories[1]); diff != "" {
		t.Errorf("what is remembered differs: %s; want none", diff)
	}
	if m := memories[0]; m.Thought != "a secret plan" || !slices.Equal(m.Actions, []string{"REPLY", "ROLL", "REPLY"}) {
		t.Errorf("remembered is %+v", m)
	}
	if diff := cmp.Diff(views[0], views[1]); diff != "" {
		t.Errorf("what is shown differs: %s; want none", diff)
	}
}

// Words such as REPLY and NONE mean that nothing is to be done. A program's own action of that name is carried out all the same:
// natively always, in the form where it has parameters.
func TestActionsNamedLikeReservedWords(t *testing.T) {
	for name, c := range map[string]struct {
		mode   generate.Mode
		action string // there is one of this name
		rounds [][]step
		began  int
	}{
		"natively":                         {generate.Native, "NONE", [][]step{{call(0, "c", "NONE", "{}"), finish(llm.FinishCalls)}, {write("Done."), finish(llm.FinishStop)}}, 1},
		"natively, without such an action": {generate.Native, "OTHER", [][]step{{write("Done."), call(0, "c", "NONE", "{}"), finish(llm.FinishCalls)}, {write("Again."), finish(llm.FinishStop)}}, 0},
		"in the form, with parameters": {generate.XML, "REPLY", [][]step{
			{write(`<response><actions><action name="REPLY"><params>{"to":"ada"}</params></action></actions><text>Wait.</text></response>`), finish(llm.FinishStop)},
			{write("<response><text>Done.</text></response>"), finish(llm.FinishStop)}}, 1},
		"in the form, without parameters": {generate.XML, "REPLY", [][]step{
			{write("<response><actions>REPLY</actions><text>Done.</text></response>"), finish(llm.FinishStop)}}, 0},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.cfg.Generation.Mode = c.mode
			a := &fakeAction{name: c.action, do: func(context.Context, *action.Call) (action.Result, error) { return action.Result{Text: "done"}, nil }}
			w.addActions(a)
			w.model.queue(c.rounds...)
			acc := w.start().sendText("A")
			if end, said := w.waitAnswer(acc); end.Status != answer.Completed || !strings.Contains(said, "Done.") {
				w.Errorf("%+v, %q", end, said)
			}
			if a.began != c.began {
				w.Errorf("the action was carried out %d times, want %d", a.began, c.began)
			}
		}))
	}
}

// Most answers are a text alone: one call of the model, whatever the order of the tags.
func TestSimpleForm(t *testing.T) {
	for name, c := range map[string]struct{ wrote, text, thought string }{
		"in order":    {"<response><thought>secret</thought><actions>REPLY</actions><providers></providers><text>Hi</text></response>", "Hi", "secret"},
		"text first":  {"<response><text>Hi</text><actions>REPLY</actions><thought>secret</thought></response>", "Hi", "secret"},
		"no thought":  {"<response><actions>REPLY</actions><text>Hi</text></response>", "Hi", ""},
		"text only":   {"<response><text>Hi</text></response>", "Hi", ""},
		"no form":     {"Hi", "Hi", ""},
		"fenced":      {"```xml\n<response><text>Hi</text></response>\n```", "Hi", ""},
		"thinks":      {"<think>secret</think><response><text>Hi</text></response>", "Hi", "secret"},
		"ignore, too": {"<response><actions>REPLY, IGNORE</actions><text>Hi</text></response>", "Hi", ""},
		"unclosed":    {"<response><text>Hi", "Hi", ""},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.useXML()
			w.model.queue(append(letters(c.wrote), finish(llm.FinishStop)))
			acc := w.start().sendText("A")
			w.wantAnswer(acc, answer.Completed, c.text)
			m := w.storedAnswer(acc)
			if len(w.model.requests()) != 1 || m.Thought != c.thought || !slices.Equal(m.Actions, []string{"REPLY"}) {
				w.Errorf("after %d calls of the model %+v is remembered", len(w.model.requests()), m)
			}
			w.wantNoTags()
		}))
	}
}

// The model may say nothing, also in private.
func TestFormIgnores(t *testing.T) {
	const unexplained = "The message does not need an answer."
	for wrote, thought := range map[string]string{
		"<response><thought>not for me</thought><actions>IGNORE</actions><text></text></response>": "not for me",
		"<response><actions>NONE</actions></response>":                                             unexplained,
		"<response><actions>ignore</actions><providers></providers><text/></response>":             unexplained,
	} {
		withHarness(t, func(w *harness) {
			w.useXML()
			w.model.queue([]step{write(wrote), finish(llm.FinishStop)})
			acc := w.start().sendText("A")
			w.wantAnswer(acc, answer.Ignored, "")
			kept, err := w.Store.Recent(w.Context(), room, chat.IgnoredKind, 0, 5)
			if err != nil || len(kept) != 1 || kept[0].Thought != thought || kept[0].InReplyTo != acc.Memory || !slices.Equal(kept[0].Actions, []string{"IGNORE"}) {
				w.Errorf("remembered is %+v, %v", kept, err)
			}
			if len(w.chat.visible()) != 0 || len(w.model.requests()) != 1 {
				w.Errorf("%s: the chat shows %q after %d calls; want none and 1", wrote, w.chat.visible(), len(w.model.requests()))
			}
		})
	}
}

func TestFormStops(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.useXML()
		w.model.queue([]step{write("<response><actions>STOP</actions></response>")})
		w.wantAnswer(w.start().sendText("Be quiet"), answer.Ignored, "")
		if a, err := w.Store.Attention(w.Context(), room); err != nil || a != chat.Quiet {
			w.Errorf("attention is %q, %v; want %q", a, err, chat.Quiet)
		}
	})
}

// One budget: nothing is asked once more, what can't be read twice more, and never after something was shown.
func TestFormRetries(t *testing.T) {
	good := []step{write("<response><text>Hi</text></response>")}
	thought := []step{write("<response><thought>secret</thought></response>")}
	cut := []step{write("<response><thought>secret</thought><actions>REPLY, DEL")}
	reply := []step{write("<response><actions>REPLY</actions></response>")}
	busy := []step{fails(&llm.Failure{Kind: llm.RateLimited, Retry: true, Err: errDown})}
	for name, c := range map[string]struct {
		scripts [][]step
		calls   int
		text    string
	}{
		"unreadable twice":      {[][]step{thought, cut, good}, 3, "Hi"},
		"unreadable forever":    {[][]step{thought, cut, reply, good}, 3, llm.ProviderIssue.Sentence(lang.Voice{})},
		"empty":                 {[][]step{{}, good}, 2, "Hi"},
		"empty twice":           {[][]step{{}, {}, good}, 2, llm.ProviderIssue.Sentence(lang.Voice{})},
		"busy, unreadable":      {[][]step{busy, thought, busy, good}, 3, llm.RateLimited.Sentence(lang.Voice{})},
		"failed in the text":    {[][]step{{write("<response><text>Half of"), busy[0]}, good}, 1, "Half of\n\n_(" + llm.RateLimited.Sentence(lang.Voice{}) + ")_"},
		"failed in the thought": {[][]step{{write("<response><thought>secret"), busy[0]}, good}, 2, "Hi"},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.useXML()
			w.model.queue(c.scripts...)
			acc := w.start().sendText("A")
			if _, said := w.waitAnswer(acc); said != c.text || len(w.model.requests()) != c.calls {
				w.Errorf("after %d calls it said %q; want %q and %d", len(w.model.requests()), said, c.text, c.calls)
			}
			w.wantNoTags()
		}))
	}
}

// provider tells what a test says.
type provider struct {
	spec action.ProviderSpec
	text string
}

func (p provider) Spec() action.ProviderSpec { return p.spec }
func (p provider) Provide(context.Context, action.TurnContext) (action.ProviderResult, error) {
	return action.ProviderResult{Text: p.text}, nil
}

// An answer that names a provider is asked for once more, with what that tells.
func TestFormAsksProviders(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.useXML()
		roll := &fakeAction{name: "ROLL"}
		w.cfg.Plugins = []action.Plugin{{
			Name: "test", Actions: []action.Action{roll}, Providers: []action.Provider{provider{action.ProviderSpec{Name: "WEATHER", Dynamic: true}, "It rains in Rome."}},
		}}
		w.model.queue(
			[]step{write("<response><thought>one</thought><actions>REPLY,ROLL</actions><providers>WEATHER, UNKNOWN</providers><text>Let me see.</text></response>")},
			[]step{write("<response><thought>two</thought><actions>REPLY</actions><providers>WEATHER</providers><text>It rains.</text></response>")})
		acc := w.start().sendText("How is the weather?")
		w.wantAnswer(acc, answer.Completed, "Let me see.\n\nIt rains.")
		calls := w.model.requests()
		if len(calls) != 2 || strings.Contains(calls[0].Messages[0].Text, "It rains in Rome.") || !strings.Contains(calls[1].Messages[0].Text, "It rains in Rome.") {
			w.Errorf("the model was asked %+v", calls)
		}
		if roll.times() != 0 {
			w.Error("an action was made before the model knew what it wanted to know")
		}
		if m := w.storedAnswer(acc); m.Thought != "one\n\ntwo" || !slices.Contains(m.Providers, "WEATHER") {
			w.Errorf("remembered is %+v", m)
		}
	})
}

// Natively a model asks the same providers with a call, of which no user sees anything. Who can't be named is an error, and
// where there is no user to ask no such call is offered.
func TestNativeAsksProviders(t *testing.T) {
	withHarness(t, func(w *harness) {
		weather := provider{action.ProviderSpec{Name: "WEATHER", Description: "the weather in Rome", Dynamic: true}, "It rains in Rome."}
		w.cfg.Plugins = []action.Plugin{{Name: "test", Providers: []action.Provider{weather, says("TIDE", "high")}}}
		w.model.queue(
			[]step{write("Let me see."), call(0, "a", "ASK_PROVIDERS", `{"names":["WEATHER"]}`), call(1, "b", "ASK_PROVIDERS", `{"names":["TIDE"]}`)},
			[]step{write("It rains.")})
		n := w.start()
		acc := n.sendText("How is the weather?")
		w.wantAnswer(acc, answer.Completed, "Let me see.\n\nIt rains.")
		calls := w.model.requests()
		if offer := calls[0].Tools; len(offer) != 1 || !strings.Contains(offer[0].Description, "- WEATHER: the weather in Rome") || strings.Contains(calls[0].texts()[0], "Rome") {
			w.Errorf("offered was %+v, and told %q", offer, calls[0].texts())
		}
		told := calls[1].texts()
		if len(told) < 2 || told[len(told)-2] != "It rains in Rome." || !strings.HasPrefix(told[len(told)-1], "Error: The parameters are invalid") {
			w.Errorf("then the model was told %q", told)
		}
		if m := w.storedAnswer(acc); !slices.Contains(m.Providers, "WEATHER") || slices.Contains(m.Actions, "ASK_PROVIDERS") || len(m.Calls) != 0 {
			w.Errorf("remembered is %+v", m)
		}
		n.shutdown()
		w.cfg.Plugins[0].Providers = w.cfg.Plugins[0].Providers[1:]
		w.wantAnswer(w.start().sendText("And now?"), answer.Completed, "You said: And now?")
		if offer := w.lastPrompt().Tools; len(offer) != 0 {
			w.Errorf("then offered was %+v; want none", offer)
		}
	})
}

// Actions happen in their order; what they show is enough where they have nothing to tell the model.
func TestFormActions(t *testing.T) {
	for name, c := range map[string]struct {
		result string
		calls  int
		text   string
	}{
		"tells nothing": {"", 1, "On it.\n\nA\n\nB"},
		"tells":         {"found", 2, "On it.\n\nA\n\nB\n\nDone."},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.useXML()
			w.addActions(shower("A", c.result), shower("B", c.result))
			w.model.queue([]step{write("<response><actions>REPLY, A, B</actions><text>On it.</text></response>")},
				[]step{write("<response><actions>A</actions><text>Done.</text></response>")})
			acc := w.start().sendText("Do it")
			w.wantAnswer(acc, answer.Completed, c.text)
			if len(w.model.requests()) != c.calls {
				w.Errorf("the model was asked %d times; want %d", len(w.model.requests()), c.calls)
			}
			if last := w.model.requests()[c.calls-1]; c.calls == 2 && !strings.Contains(last.Messages[0].Text, "A {}: found") {
				w.Errorf("at last the model was asked %q", last.texts())
			}
		}))
	}
}

// Several steps, unseen, and then the answer.
func TestMultiStep(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.useXML()
		w.cfg.Generation.MultiStep = true
		a, b := shower("A", "found a"), shower("B", "found b")
		w.cfg.Plugins = []action.Plugin{{
			Name: "test", Actions: []action.Action{a, b}, Providers: []action.Provider{provider{action.ProviderSpec{Name: "WEATHER", Dynamic: true}, "It rains in Rome."}},
		}}
		decide := func(providers, action, finish string) []step {
			return []step{write("<response><thought>secret</thought><providers>" + providers + "</providers><action>" + action +
				"</action><parameters>{\"x\":\"1, 2\"}</parameters><isFinish>" + finish + "</isFinish></response>")}
		}
		w.model.queue(decide("WEATHER", "", "false"), []step{write("I don't know.<")}, decide("", "A", "false"), decide("", "B", "true"),
			letters("<response><thought>secret</thought><text>It is done.</text></response>"))
		acc := w.start().sendText("Do it")
		w.wantAnswer(acc, answer.Completed, "A\n\nB\n\nIt is done.")
		calls := w.model.requests()
		if len(calls) != 5 {
			w.Fatalf("the model was asked %d times; want 5", len(calls))
		}
		for i, want := range []string{"step 1 of at most 6", "It rains in Rome.", "step 2", "found a", "found b"} {
			if !strings.Contains(calls[i].Messages[0].Text, want) {
				w.Errorf("question %d lacks %q: %s", i, want, calls[i].Messages[0].Text)
			}
		}
		w.wantNoTags()
	})
}

// In the form, as in native rounds, the prompt names a call that could not be made, and the reason. The call's own text is shortened.
func TestFormTellsOfCallsNotMade(t *testing.T) {
	for name, c := range map[string]struct{ call, told string }{
		"an unknown action":    {"<actions>NOPE</actions>", `NOPE: Error: There is no action "NOPE".`},
		"no parameters":        {"<actions>DO</actions>", "DO: Error: The parameters are missing."},
		"invalid parameters":   {`<actions>DO</actions><params>{"DO":{"what":7}}</params>`, `DO {"what":7}: Error: The parameters are invalid: what: `},
		"very long parameters": {`<actions>NOPE</actions><params>{"NOPE":{"what":"` + strings.Repeat("long ", 100_000) + `"}}</params>`, `There is no action "NOPE".`},
	} {
		for mode, multi := range map[string]bool{"form": false, "multi-step": true} {
			t.Run(name+", "+mode, subtest.Of(withHarness, func(w *harness) {
				w.useXML()
				w.cfg.Generation.MultiStep = multi
				w.addActions(&fakeAction{name: "DO", effect: action.Writes, schema: `{"type":"object","required":["what"],"properties":{"what":{"type":"string"}}}`})
				said := "<response><text>It did not work.</text></response>"
				w.model.queue([]step{write("<response><thought>x</thought>" + c.call + "</response>")}, []step{write(said)}, []step{write(said)})
				w.wantAnswer(w.start().sendText("Do it"), answer.Completed, "It did not work.")
				if asked := w.model.requests()[1].Messages[0].Text; !strings.Contains(asked, c.told) || len(asked) > 20_000 {
					w.Errorf("the model was asked %.3000q; want it to contain %q and at most 20_000", asked, c.told)
				}
			}))
		}
	}
}

// shower shows its name, and tells the model something.
func shower(name, tells string) *fakeAction {
	return &fakeAction{name: name, do: func(_ context.Context, c *action.Call) (action.Result, error) {
		c.Update(name)
		return action.Result{Text: tells}, nil
	}}
}

// Steps end, whatever the model wants.
func TestSteps(t *testing.T) {
	for name, c := range map[string]struct {
		generation generate.Config
		text       string
		actions    int
	}{
		"native":     {generate.Config{MaxSteps: 3}, "A\n\nA\n\n_(" + llm.ProviderIssue.Sentence(lang.Voice{}) + ")_", 2},
		"multi-step": {generate.Config{Mode: generate.XML, MultiStep: true, MaxSteps: 3}, "A\n\nA\n\nThe end.", 2},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.cfg.Generation = c.generation
			a := shower("A", "more")
			w.addActions(a)
			w.model.respond = func(req llm.Request) []step {
				switch text := req.Messages[0].Text; {
				case c.generation.Mode == generate.Native:
					return []step{call(0, "", "A", "{}"), finish(llm.FinishCalls)}
				case strings.Contains(text, "<isFinish>"):
					return []step{write("<response><action>A</action><isFinish>false</isFinish></response>")}
				}
				return []step{write("<response><text>The end.</text></response>")}
			}
			acc := w.start().sendText("Do it")
			if _, said := w.waitAnswer(acc); said != c.text || a.times() != c.actions || len(w.model.requests()) != 3 {
				w.Errorf("after %d actions and %d calls it said %q", a.times(), len(w.model.requests()), said)
			}
		}))
	}
}

// A template of one's own that asks for the form has its answers read in that form, whatever the mode.
func TestFormOfATemplate(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Agent.Templates = map[string]string{"messageHandlerTemplate": "{{recentMessages}}\nAnswer with <response><text>what you say</text></response>."}
		w.model.queue(letters("<response><thought>secret</thought><text>Hi</text></response>"))
		w.wantAnswer(w.start().sendText("A"), answer.Completed, "Hi")
		w.wantNoTags()
	})
}
