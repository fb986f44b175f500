package core_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/lang"
	"parley/internal/require"
	"parley/internal/subtest"
)

// blocks are the tool blocks as a reader saw them, by call: for each change its stage and what is new in it.
func blocks(cs []answer.Change) map[string][]string {
	all := map[string][]string{}
	for _, c := range cs {
		if t := c.Tool; c.Kind == answer.ToolStage {
			all[c.Call] = append(all[c.Call], strings.TrimSpace(string(t.Stage)+" "+t.ParametersChunk+" | "+t.CompactParams+" | "+t.ShortResult+t.Error))
		}
	}
	return all
}

// The pieces of parallel calls come mixed, and each goes to its own block, with a line of what is there so far.
func TestParallelCallsDoNotMix(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.watchOnly()
		read := &fakeAction{name: "READ", compact: func(p map[string]any) string {
			return p["path"].(string) // which is not there at first
		}}
		w.addActions(read, &fakeAction{name: "PLAY"})
		piece := func(index int, id, name, text string) []step {
			return []step{call(index, id, name, text), pause(time.Second)}
		}
		w.model.queue(slices.Concat(
			piece(0, "a", "READ", `{"pa`), piece(1, "b", "PLAY", `{"title":"So `), piece(0, "", "", `th":"x/`),
			piece(1, "", "", `What","n":1`), piece(0, "", "", `y.txt"}`), piece(1, "", "", `2}`),
		), []step{write("Done.")})
		n := w.start()
		cs, _, err := n.readAnswer(n.sendText("do it").Run)
		w.Must(err)
		want := map[string][]string{
			"a": {"start  |  |", `streaming {"pa |  |`, `streaming th":"x/ | x/ |`, `streaming y.txt"} | x/y.txt |`, "running  | x/y.txt |", "end  | x/y.txt | done"},
			"b": {"start  |  |", `streaming {"title":"So  | So |`, `streaming What","n":1 | So What |`, "streaming 2} | So What, 12 |",
				"running  | So What, 12 |", "end  | So What, 12 | done"},
		}
		if diff := cmp.Diff(want, blocks(cs)); diff != "" {
			w.Error(diff)
		}
	})
}

// A block ends once, in whatever way the call or its run does.
func TestEveryBlockEndsOnce(t *testing.T) {
	broken := func(context.Context, *action.Call) (action.Result, error) { panic("broken") }
	for name, c := range map[string]struct {
		script []step
		do     func(context.Context, *action.Call) (action.Result, error)
		during func(n *process) // while the call is under way
		want   string           // in its error
	}{
		"it goes well":        {script: []step{call(0, "a", "DO", "{}")}},
		"it fails":            {[]step{call(0, "a", "DO", "{}")}, fail("no"), nil, "It failed."},
		"it panics":           {[]step{call(0, "a", "DO", "{}")}, broken, nil, "It failed."},
		"it takes too long":   {[]step{call(0, "a", "DO", "{}")}, takes(time.Hour), nil, "It failed."},
		"unknown":             {[]step{call(0, "a", "DONT", "{}")}, nil, nil, "not valid"},
		"refused":             {[]step{call(0, "a", "GUARDED", "{}")}, nil, nil, "The call was not made."},
		"half its parameters": {[]step{call(0, "a", "DO", `{"x":`)}, nil, nil, "not valid"},
		"the model breaks":    {[]step{call(0, "a", "DO", `{"x":`), fails(errors.New("cut"))}, nil, nil, llm.ProviderIssue.Sentence(lang.Voice{})},
		"stopped while it runs": {[]step{call(0, "a", "DO", "{}")}, takes(time.Hour), func(n *process) { n.stopAnswer(room) },
			"interrupted"},
		"stopped while it is asked for": {[]step{call(0, "a", "DO", `{"x":`), pause(time.Hour)}, nil, func(n *process) { n.stopAnswer(room) },
			"Cancelled before it started"},
		"superseded": {[]step{write(fox), call(0, "a", "DO", "{}")}, takes(time.Hour), func(n *process) { n.sendText("more") }, "interrupted"},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.watchOnly()
			w.addActions(&fakeAction{name: "DO", do: c.do})
			w.cfg.Plugins = append(w.cfg.Plugins, action.Plugin{Name: "shop", Actions: []action.Action{&approvedAction{&fakeAction{name: "GUARDED"}, "kind"}}})
			w.model.queue(c.script)
			n := w.start()
			acc := n.sendText("do it")
			if c.during != nil {
				time.AfterFunc(10*time.Second, func() { c.during(n) })
			}
			cs, v, err := n.readAnswer(acc.Run)
			w.Must(err)
			end, ok := wantStages(w, cs)["a"]
			if !ok || !strings.Contains(end.Error, c.want) || end.Success != (c.want == "") {
				w.Errorf("it ended as %+v; want %q", end, c.want)
			}
			if s := v.Segments[slices.IndexFunc(v.Segments, func(s answer.Segment) bool { return s.Call == "a" })]; s.Tool.Stage != answer.StageEnd {
				w.Errorf("the view has it at %q; want %q", s.Tool.Stage, answer.StageEnd)
			}
			time.Sleep(time.Minute) // for the run that comes after
		}))
	}
}

func fail(why string) func(context.Context, *action.Call) (action.Result, error) {
	return func(context.Context, *action.Call) (action.Result, error) { return action.Result{}, errors.New(why) }
}

// What an action goes on saying after it has returned is not heard.
func TestNothingAfterTheEnd(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.watchOnly()
		w.addActions(&fakeAction{name: "DO", do: func(_ context.Context, c *action.Call) (action.Result, error) {
			c.Update("working")
			time.AfterFunc(time.Second, func() {
				c.Update("late")
				c.Append("later")
				c.Short("latest")
			})
			return action.Result{Text: "ok"}, nil
		}})
		w.model.queue([]step{call(0, "a", "DO", "{}")}, []step{pause(time.Minute), write("Well.")})
		n := w.start()
		cs, v, err := n.readAnswer(n.sendText("do it").Run)
		w.Must(err)
		wantStages(w, cs)
		if got := v.Text(); got != "working\n\nWell." {
			w.Errorf(`it says %q; want "working\n\nWell."`, got)
		}
	})
}

// A file of an update goes with the next one; the last stays, above those of the result.
func TestUpdateFiles(t *testing.T) {
	file := func(n string) llm.File { return llm.File{Name: n + ".pdf", Type: "application/pdf", Data: []byte(n)} }
	files := func(of ...string) (all []llm.File) {
		for _, n := range of {
			all = append(all, file(n))
		}
		return all
	}
	for name, c := range map[string]struct {
		last, result []llm.File
		told         [][]llm.File // by the callbacks and the end
		want         []llm.File
	}{
		"of an update alone":  {files("2"), nil, [][]llm.File{files("1"), files("2"), nil}, files("2")},
		"of both":             {files("2"), files("3"), [][]llm.File{files("1"), files("2"), files("2", "3")}, files("2", "3")},
		"of an earlier one":   {nil, nil, [][]llm.File{files("1"), nil, nil}, nil},
		"of the result alone": {nil, files("3"), [][]llm.File{files("1"), nil, files("3")}, files("3")},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.watchOnly()
			w.addActions(&fakeAction{name: "PAINT", do: func(_ context.Context, a *action.Call) (action.Result, error) {
				a.Update("a sketch", file("1"), llm.File{Name: "empty"})
				a.Short("half way") // leaves it
				time.Sleep(time.Second)
				a.Update("a painting", c.last...)
				time.Sleep(time.Second)
				return action.Result{Text: "there", Files: c.result}, nil
			}})
			w.model.queue([]step{call(0, "a", "PAINT", "{}")}, []step{pause(time.Second), write("Well.")})
			n := w.start()
			acc := n.sendText("go")
			cs, v, err := n.readAnswer(acc.Run)
			w.Must(err)
			var told [][]llm.File
			for _, change := range cs {
				if change.Kind == answer.Callback || change.Kind == answer.ToolStage && change.Tool.Stage == answer.StageEnd {
					told = append(told, change.Files)
				}
			}
			if diff := cmp.Diff(c.told, told); diff != "" {
				w.Errorf("told (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, v.Files()); diff != "" {
				w.Errorf("at last (-want +got):\n%s", diff)
			}
			_, again, err := n.readAnswer(acc.Run)
			w.Must(err)
			var stored []llm.File
			for _, b := range again.Files() {
				if b.Past == nil || b.Data != nil { // a reader who comes late holds nothing of it (WB-15)
					w.Fatalf("remembered is %+v", b)
				}
				found := require.Value(w.cfg.Store.File(w.Context(), acc.Run, b.Past.N))(w)
				stored = append(stored, found)
			}
			if diff := cmp.Diff(c.want, stored); diff != "" {
				w.Errorf("remembered (-want +got):\n%s", diff)
			}
		}))
	}
}

// An action may wait until people see what it shows, and learns where.
func TestUpdateAndWait(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(w *harness)
		posted  bool
		err     error
	}{
		"in messages": {func(*harness) {}, true, nil},
		"watched":     {func(w *harness) { w.watchOnly() }, false, nil},
		"shown only at last": {func(w *harness) {
			w.cfg.Open = func(_ context.Context, r chat.Run) (core.Surface, error) {
				return &poster{chat: w.chat, run: r, silent: true}, nil
			}
		}, false, chat.ErrUnseen},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			c.prepare(w)
			w.addActions(&fakeAction{name: "DO", do: func(ctx context.Context, call *action.Call) (action.Result, error) {
				shown, err := call.UpdateAndWait(ctx, "I look for it everywhere.")
				if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
					w.Errorf("waiting gave %v", err)
				}
				if c.posted && (len(shown) != 1 || shown[0].ID == "" || !slices.Contains(w.chat.visible(), "I look for it everywhere.")) {
					w.Errorf("it stands in %+v; people see %q", shown, w.chat.visible())
				} else if !c.posted && len(shown) != 0 {
					w.Errorf("it stands in %+v", shown)
				}
				return action.Result{Text: "ok"}, nil
			}})
			w.model.queue([]step{call(0, "a", "DO", "{}")}, []step{write("Done.")})
			n := w.start()
			w.wantAnswer(n.sendText("do it"), answer.Completed, "I look for it everywhere.\n\nDone.")
		}))
	}
}

// What a model makes up fits in one line all the same.
func TestLinesAreLines(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.watchOnly()
		w.addActions(&fakeAction{name: "DO"})
		w.model.queue([]step{
			call(0, "a", "DO\nthis "+strings.Repeat("now", 1000), "{\"x\":\"one\\ntwo\u202e "+strings.Repeat("z", 1000)+`"}`),
		}, []step{write("Well.")})
		n := w.start()
		cs, _, err := n.readAnswer(n.sendText("do it").Run)
		w.Must(err)
		end := wantStages(w, cs)["a"]
		for _, line := range []string{end.Name, end.CompactParams} {
			if strings.ContainsAny(line, "\n\u202e") || len([]rune(line)) > 81 || !strings.HasSuffix(line, "…") {
				w.Errorf("%q", line)
			}
		}
	})
}
