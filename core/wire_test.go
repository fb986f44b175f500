package core_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/generate"
	"parley/core/llm"
	"parley/gatewaytest"
	"parley/internal/lang"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/models/modelfake"
	"parley/models/openai"
	"parley/sim"
)

// wireHarness is a harness whose model is behind a provider's server, as it is in life: HTTP and a stream of events, read by the
// client of models/openai.
type wireHarness struct {
	*harness
	*modelfake.Server
	mode generate.Mode
	asks []modelfake.Script // of a question, what each call of the model is answered; the last again and again
	call int                // of these
}

// onEachMode runs a test in each mode.
func onEachMode(t *testing.T, play func(w *wireHarness)) {
	t.Helper()
	for _, mode := range []generate.Mode{generate.Native, generate.XML} {
		t.Run("mode="+string(mode), func(t *testing.T) { inMode(t, mode, play) })
	}
}

// inMode runs a test, and wants every request to be one that providers take.
func inMode(t *testing.T, mode generate.Mode, play func(w *wireHarness)) {
	t.Helper()
	withHarness(t, func(in *harness) {
		w := &wireHarness{harness: in, mode: mode}
		w.cfg.Generation.Mode = mode
		w.Server = modelfake.New(modelfake.Options{Choose: func(modelfake.Request) modelfake.Script {
			w.call++
			return w.asks[min(w.call, len(w.asks))-1]
		}})
		network := sim.NewNet()
		l := require.Value(network.Listen("tcp", "model.test:80"))(w)
		w.Cleanup(w.Serve(l))
		m := openai.New(openai.Options{BaseURL: "http://model.test/v1", Model: modelfake.DefaultModel, Dial: network.Dial})
		w.Cleanup(func() { _ = m.Close() })
		w.cfg.Models.Large = m
		play(w)
		for _, r := range w.Rejected() {
			w.Errorf("request %d is refused: %s", r.Number, r.Rejected)
		}
		w.wantNoTags()
	})
}

// ask asks something that the model answers with these scripts, and returns how that ends after how many calls.
func (w *wireHarness) ask(n *process, scripts ...modelfake.Script) (o answer.Outcome, said string, calls int) {
	w.Helper()
	w.asks, w.call = scripts, 0
	o, said = w.waitAnswer(n.sendText("Count"))
	return o, said, w.call
}

// wantNormalTurn wants the next turn to be like any other.
func (w *wireHarness) wantNormalTurn(n *process) {
	w.Helper()
	if o, said, calls := w.ask(n, modelfake.Script{w.answerStep("Good.")}); o.Status != answer.Completed || said != "Good." || calls != 1 {
		w.Errorf("the next turn is %+v after %d calls: %q", o, calls, said)
	}
}

// answerStep is the step of an answer.
func (w *wireHarness) answerStep(text string, by ...modelfake.Pieces) modelfake.Step {
	if w.mode == generate.XML {
		return modelfake.Text("<response><thought>a secret</thought><actions>REPLY</actions><text>"+text+"</text></response>", by...)
	}
	return modelfake.Text("<think>a secret</think>"+text, by...)
}

// LM-01, LM-02, LM-03, LM-13: whatever happens before whichever event, no text is repeated, an answer that is whole is
// not asked for again, and the next turn is like any other.
func TestFaultBeforeEachEvent(t *testing.T) {
	const whole = "One two three."
	for name, fault := range map[string]modelfake.Step{
		"cut": modelfake.Cut(), "error": modelfake.ErrorEvent("overloaded", "inner text"), "silence": modelfake.Comments(30 * time.Second),
	} {
		t.Run(name, subtest.Of(onEachMode, func(w *wireHarness) {
			n, good := w.start(), modelfake.Script{w.answerStep(whole, modelfake.ByBytes(18))}
			_, _, _ = w.ask(n, good)
			events := w.Requests()[0].Events
			said := events - 1 // the finish reason; the closing tag of the form says it before
			if w.mode == generate.XML {
				said--
			}
			for at := range events + 1 {
				o, text, calls := w.ask(n, append(modelfake.Script{modelfake.After(at, fault)}, good...), good)
				before := fmt.Sprintf("before event %d of %d, after %d calls, it ends with %+v: %q", at, events, calls, o, text)
				seen, partial := strings.CutSuffix(text, failureNotice(o.Failure))
				silent := name == "silence"
				switch {
				case at >= said && (text != whole || calls != 1):
					w.Error("it was all said", before)
				case at >= said:
				case silent != (o.Failure == llm.GenerationTimeout):
					w.Error("only silence takes too long", before)
				case o.Failure == "" && (text != whole || calls != 2):
					w.Error("nothing was to be seen yet", before)
				case o.Failure != "" && (calls != 1 || partial != o.Partial || partial && !strings.HasPrefix(whole, strings.TrimSpace(seen))):
					w.Error("what was seen stays, once", before)
				case o.Failure != "" && !silent && !partial:
					w.Error("nothing was to be seen, and it was not tried again", before)
				}
			}
			w.wantNormalTurn(n)
		}))
	}
}

// failureNotice is what people read of a failure at the end of a text.
func failureNotice(k llm.FailureKind) string { return "_(" + k.Sentence(lang.Voice{}) + ")_" }

// LM-01, LM-06, LM-07, LM-08: ends that are no answer are tried again only where that helps, told in a sentence, and no part of
// what follows.
func TestEndsOnTheWire(t *testing.T) {
	tooLong := modelfake.Status(http.StatusBadRequest, `{"error":{"code":"context_length_exceeded","message":"inner text"}}`)
	filtered := modelfake.Status(http.StatusBadRequest, `{"error":{"code":"content_filter","message":"inner text"}}`)
	cases := map[string]struct {
		scripts []modelfake.Script // before a good one
		calls   int
		failure llm.FailureKind
		said    string // for those that are no failure
		least   time.Duration
	}{
		"429":                       {[]modelfake.Script{{modelfake.RateLimit(0)}}, 2, "", "Good.", 0},
		"429, with a time":          {[]modelfake.Script{{modelfake.RateLimit(20 * time.Second)}}, 2, "", "Good.", 20 * time.Second},
		"429, with too long a time": {[]modelfake.Script{{modelfake.RateLimit(time.Hour)}}, 1, llm.RateLimited, "", 0},
		"503":                       {[]modelfake.Script{{modelfake.Status(503, "")}}, 2, "", "Good.", 0},
		"503, with a time":          {[]modelfake.Script{{modelfake.Status(503, "", "Retry-After", "9")}}, 2, "", "Good.", 9 * time.Second},
		"529":                       {[]modelfake.Script{{modelfake.Status(modelfake.StatusOverloaded, "")}}, 2, "", "Good.", 0},
		"529 forever":               {[]modelfake.Script{{modelfake.Status(529, "")}, {modelfake.Status(529, "")}, {modelfake.Status(529, "")}}, 3, llm.ProviderIssue, "", 0},
		"busy, empty, busy":         {[]modelfake.Script{{modelfake.RateLimit(0)}, {}, {modelfake.RateLimit(0)}}, 3, llm.RateLimited, "", 0},
		"empty":                     {[]modelfake.Script{{}}, 2, "", "Good.", 0},
		"empty twice":               {[]modelfake.Script{{}, {}}, 2, llm.ProviderIssue, "", 0},
		"only reasoning":            {[]modelfake.Script{{modelfake.Reasoning("hm")}, {modelfake.Reasoning("hm")}}, 2, llm.ProviderIssue, "", 0},
		"only usage":                {[]modelfake.Script{{modelfake.ReportUsage(1, 0), modelfake.Finish("")}}, 2, "", "Good.", 0},
		"only [DONE]":               {[]modelfake.Script{{modelfake.NoChoices(), modelfake.Finish("")}}, 2, "", "Good.", 0},
		"filtered before the text":  {[]modelfake.Script{{modelfake.Finish("content_filter")}}, 1, llm.ContentFilter, "", 0},
		"the question is filtered":  {[]modelfake.Script{{filtered}}, 1, llm.ContentFilter, "", 0},
		"cut in the text":           {[]modelfake.Script{{modelfake.Text("Well"), modelfake.Finish("length")}}, 2, "", "WellGood.", 0},
		"too long a conversation":   {[]modelfake.Script{{tooLong}}, 1, llm.ConversationTooLong, "", 0},
	}
	onEachMode(t, func(w *wireHarness) {
		n := w.start()
		for name, c := range cases {
			before, begun := len(w.Requests()), time.Now()
			o, said, calls := w.ask(n, append(c.scripts, modelfake.Script{w.answerStep("Good.")})...)
			if c.said == "" {
				c.said = c.failure.Sentence(lang.Voice{})
			}
			if said != c.said || o.Failure != c.failure || calls != c.calls || time.Since(begun) < c.least {
				w.Errorf("%s: after %d calls and %v it is %+v: %q", name, calls, time.Since(begun), o, said)
			}
			w.wantNormalTurn(n)
			next := string(w.Requests()[before+calls].Raw)
			if c.failure != "" && strings.Contains(next, c.said) || strings.Contains(next, "inner text") {
				w.Errorf("%s: a failure is part of the next prompt: %s", name, next)
			}
		}
		o, said, _ := w.ask(n, modelfake.Script{modelfake.Text("Well"), modelfake.Finish("content_filter")})
		if o.Failure != llm.ContentFilter || !o.Partial || said != "Well\n\n"+failureNotice(llm.ContentFilter) {
			w.Errorf("filtered in the text: it is %+v: %q", o, said)
		}
	})
}

// LM-04: parameters that are cut anywhere, however the answer then ends, are never used.
func TestCutParametersOnTheWire(t *testing.T) {
	const whole = `{"path":"/tmp/x","force":{"yes":true}}`
	ends := map[string][]modelfake.Step{
		"tool_calls": {modelfake.Finish("tool_calls")}, "length": {modelfake.Finish("length")}, "stop": {modelfake.Finish("stop")}, "no reason": {modelfake.Finish("")}, "a cut": {modelfake.Cut()},
	}
	onEachMode(t, func(w *wireHarness) {
		remove := &fakeAction{name: "DELETE", effect: action.Writes, schema: `{"type":"object","properties":{"path":{"type":"string"}}}`}
		w.addActions(remove)
		n := w.start()
		for name, end := range ends {
			for cut := 0; cut < len(whole); cut += 6 {
				broken := modelfake.ToolCall("c", "DELETE", whole[:cut], modelfake.ByBytes(7))
				if w.mode == generate.XML {
					broken = modelfake.Text(`<response><actions><action name="DELETE"><params>` + whole[:cut])
				}
				o, said, _ := w.ask(n, append(modelfake.Script{broken}, end...), modelfake.Script{w.answerStep("Well.")})
				if remove.times() > 0 || !o.Done() {
					w.Fatalf("%q, then %s: it was used, and ends with %+v, %q", whole[:cut], name, o, said)
				}
			}
		}
		w.wantNormalTurn(n)
	})
}

// LM-05: whatever a model calls, and however, it is told what came of it, and the run goes on.
func TestOddCallsOnTheWire(t *testing.T) {
	cases := map[string]struct {
		native, form modelfake.Step
		made         int
	}{
		"no name":           {modelfake.ToolCall("a", "", "{}"), modelfake.Text(`<response><actions><action name=""><params>{}</params></action></actions></response>`), 0},
		"a name of its own": {modelfake.ToolCall("a", "FLY", "{}"), modelfake.Text("<response><actions>FLY</actions></response>"), 0},
		"null":              {modelfake.NullCall("a", "DO"), modelfake.Text("<response><actions>DO</actions><params>null</params></response>"), 1},
		"a list":            {modelfake.ToolCall("a", "DO", "[]"), modelfake.Text(`<response><actions><action name="DO"><params>[]</params></action></actions></response>`), 0},
		"one id twice": {modelfake.Interleaved(modelfake.Whole, modelfake.Call{ID: "a", Name: "DO", Arguments: "{}"}, modelfake.Call{ID: "a", Name: "DO", Arguments: "{}"}),
			modelfake.Text("<response><actions>DO, DO</actions></response>"), 2},
		"no id":      {modelfake.ToolCall("", "DO", "{}"), modelfake.Text("<response><action>DO</action></response>"), 1},
		"no choices": {modelfake.NoChoices(), modelfake.Text(""), 0},
	}
	onEachMode(t, func(w *wireHarness) {
		do := &fakeAction{name: "DO"}
		w.addActions(do)
		n := w.start()
		for name, c := range cases {
			odd, before := c.native, do.times()
			if w.mode == generate.XML {
				odd = c.form
			}
			o, said, calls := w.ask(n, modelfake.Script{odd}, modelfake.Script{w.answerStep("Well.")})
			if made := do.times() - before; said != "Well." || calls != 2 || made != c.made {
				w.Errorf("%s: after %d calls and %d actions it is %+v: %q", name, calls, made, o, said)
			}
		}
		w.wantNormalTurn(n)
	})
}

// LM-09: wherever in a turn with an action a process dies, what comes next is a request that providers take.
func TestCrashOnTheWire(t *testing.T) {
	for k, effects := 0, 1; k <= effects; k++ {
		inMode(t, generate.Native, func(w *wireHarness) {
			w.addActions(&fakeAction{name: "WRITE", effect: action.Writes, do: takes(time.Second)})
			w.asks = []modelfake.Script{{modelfake.Text("I write."), modelfake.ToolCall("c", "WRITE", "{}")}, {modelfake.Text("Written.")}}
			p := &gatewaytest.Faults{}
			first := w.startFaulty(p)
			killAt(p, k, false, first)
			m := w.message(room, "ada", "Write")
			_, _ = first.ProcessMessage(w.Context(), m) // an error makes the platform deliver it again
			time.Sleep(time.Minute)
			effects = max(effects, len(p.Effects()))
			second := w.start()
			w.waitAnswer(second.send(m))
			w.wantNormalTurn(second)
		})
	}
}
