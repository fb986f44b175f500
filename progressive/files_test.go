package progressive_test

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/lang"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

var picture = llm.File{Type: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}

// addFiles ends a call that came to files.
func (s *delivery) addFiles(files ...llm.File) {
	s.a.Apply(answer.Change{Kind: answer.ToolStage, Call: "1", Tool: &answer.Tool{Name: "PAINT", Stage: answer.StageEnd, Success: true}, Files: files})
}

// status is a callback with files.
func (s *delivery) status(text string, files ...llm.File) {
	s.a.Apply(answer.Change{Kind: answer.Callback, Call: "1", Text: text, Files: files})
}

func named(name string) llm.File {
	return llm.File{Name: name, Type: "text/plain", Data: []byte(name)}
}

func TestFiles(t *testing.T) {
	for name, c := range map[string]struct {
		file llm.File
		want []string
	}{
		"a picture":    {picture, []string{"picture-1.png", "(An image can't be shown here.)"}},
		"a photo":      {llm.File{Type: "image/jpeg"}, []string{"picture-1.jpg", "(An image can't be shown here.)"}},
		"with a name":  {named("a.txt"), []string{"a.txt", "(The file a.txt can't be shown here.)"}},
		"without one":  {llm.File{Type: "text/plain"}, []string{"file-1", "(The file file-1 can't be shown here.)"}},
		"a large one":  {llm.File{Type: "image/png", Data: make([]byte, 13)}, []string{"(An image is too large to show here.)"}},
		"a large file": {llm.File{Name: "a.txt", Data: make([]byte, 13)}, []string{"(The file a.txt is too large to show here.)"}},
	} {
		parts, lines := progressive.Files(answer.View{Segments: []answer.Segment{{}, {Call: "1", Files: []llm.File{c.file}}}}, 12, lang.Voice{}.Say)
		for _, p := range parts {
			lines = append(lines, p.File.Name, p.Plain)
		}
		if !slices.Equal(lines, c.want) {
			t.Errorf("%s: %q; want %q", name, lines, c.want)
		}
	}
}

// TR-12, TR-11, ST-06: files stand below the text, each once, whatever becomes of a request: of one that shows them while the
// answer goes on, and of one at its end.
func TestFilesAreDelivered(t *testing.T) {
	const one, two, said = "[picture-1.png]", "[picture-2.png]", "(An image can't be shown here.)"
	expected := map[string][3][]string{ // without nonces, with them
		"ambiguous, undone": {{prose, two}, {prose, one, two}},
		"unparsable":        {{prose, said, two}, {prose, said, two}},
		"forbidden":         {{prose}, {prose}},
		"gone":              {{two}, {two}}, // with nonces or without, files that users removed are not shown again
	}
	for fault, f := range faults {
		for i, sink := range []func(*progressivetest.Chat) progressive.Sink{full, nonced} {
			for when, live := range map[string]time.Duration{"at the end": 0, "before": 3 * time.Hour} {
				t.Run(fault+"/"+[]string{"no nonces", "nonces"}[i]+"/"+when, subtest.With(withDelivery, sink, func(s *delivery) {
					want, ok := expected[fault]
					if !ok {
						want[i] = []string{prose, one, two}
					}
					s.show()
					s.say(prose)
					time.Sleep(10 * time.Second)
					s.fail(progressive.Post, 0, f)
					s.addFiles(picture, picture)
					if live > 0 {
						time.Sleep(live)
						s.wantShown(want[i]...)
					}
					s.finish()
					s.wantShown(want[i]...)
					for _, r := range s.chat.Log(progressive.Edit) {
						if r.Part.File != nil {
							s.Errorf("%s is uploaded twice", r.Part.File.Name)
						}
					}
				}))
			}
		}
	}
}

// A callback's files stand while it does: the next one's take their place, in the same messages.
func TestFilesOfCallbacks(t *testing.T) {
	for kind, sink := range map[string]func(*progressivetest.Chat) progressive.Sink{"nonces": nonced, "no nonces": full} {
		t.Run(kind, subtest.With(withDelivery, sink, func(s *delivery) {
			s.show()
			step := func(do func(), want ...string) {
				s.Helper()
				do()
				time.Sleep(10 * time.Second)
				s.wantShown(want...)
			}
			step(func() { s.status("Ok", named("a")) }, "Ok", "[a]")
			step(func() { s.status("Better", named("b"), named("c")) }, "Better", "[b]", "[c]")
			posts := s.count(progressive.Post)
			step(func() { s.status("Best", named("b"), named("d")) }, "Best", "[b]", "[d]")
			if n := s.count(progressive.Post); n != posts || s.count(progressive.Delete) != 0 {
				s.Errorf("%d posts, and %d deletions, in place of edits", n-posts, s.count(progressive.Delete))
			}
			if n := len(slices.DeleteFunc(s.chat.Log(progressive.Edit), func(r progressivetest.Request) bool { return r.Part.File == nil })); n != 2 {
				s.Errorf("%d edits of files; a to b and c to d want 2", n)
			}
			step(func() { s.status("Nearly", named("b")) }, "Nearly", "[b]")
			step(func() { s.status("None") }, "None")
			step(func() { s.status("Again", named("e")) }, "Again", "[e]")
			step(func() { s.addFiles(named("e"), picture) }, "Again", "[e]", "[picture-2.png]")
			s.finish()
			s.wantShown("Again", "[e]", "[picture-2.png]")
		}))
	}
}

// ST-13, TR-11: what a platform refuses of one callback is words until the next one; what a reader took away
// comes back only as another.
func TestFilesOfCallbacksRefused(t *testing.T) {
	const instead = "(The file b can't be shown here.)"
	for name, c := range map[string]struct {
		op    progressive.Op
		fault progressivetest.Fault
		then  []string // with the second callback
		last  []string // with the third, at the end
	}{
		"refused by an edit":      {progressive.Edit, progressivetest.Fault{Err: progressive.ErrUnparsable}, []string{"Two", instead}, []string{"Three", "[c]"}},
		"an edit in doubt":        {progressive.Edit, progressivetest.Fault{Err: progressive.ErrAmbiguous, Applied: true}, []string{"Two", "[b]"}, []string{"Three", "[c]"}},
		"an edit that must wait":  {progressive.Edit, progressivetest.Fault{Err: progressive.RetryAfter{Scope: "chat/room", After: time.Minute}}, []string{"Two", "[b]"}, []string{"Three", "[c]"}},
		"removed before the edit": {progressive.Edit, progressivetest.Fault{Err: progressive.ErrGone, Remove: true}, []string{"[b]"}, []string{"[b]"}}, // and with the text the answer ends
	} {
		for kind, sink := range map[string]func(*progressivetest.Chat) progressive.Sink{"nonces": nonced, "no nonces": full} {
			t.Run(name+"/"+kind, subtest.With(withDelivery, sink, func(s *delivery) {
				s.show()
				s.status("One", named("a"))
				time.Sleep(10 * time.Second)
				first := true
				s.chat.ChangeFate(func(func(progressivetest.Request) progressivetest.Fault) func(progressivetest.Request) progressivetest.Fault {
					return func(r progressivetest.Request) progressivetest.Fault {
						if first && r.Op == c.op && r.Part.File != nil {
							first = false
							return c.fault
						}
						return progressivetest.Fault{}
					}
				})
				s.status("Two", named("b"))
				time.Sleep(2 * time.Minute)
				s.wantShown(c.then...)
				s.status("Three", named("c"))
				s.finish()
				s.wantShown(c.last...)
			}))
		}
	}
}

// TR-12: of a file whose fate is unknown the next one takes the place, where nonces tell; elsewhere it stands below what may be there.
func TestFilesOfCallbacksInDoubt(t *testing.T) {
	for name, c := range map[string]struct {
		sink       func(*progressivetest.Chat) progressive.Sink
		done       bool
		then, last []string
	}{
		"nonces, done":      {nonced, true, []string{"Two", "[b]"}, []string{"Three", "[c]"}},
		"nonces, undone":    {nonced, false, []string{"Two", "[b]"}, []string{"Three", "[c]"}},
		"no nonces, done":   {full, true, []string{"Two", "[b]"}, []string{"Three", "[b]", "[c]"}},
		"no nonces, undone": {full, false, []string{"Two"}, []string{"Three", "[c]"}},
	} {
		t.Run(name, subtest.With(withDelivery, c.sink, func(s *delivery) {
			s.show()
			s.status("One")
			time.Sleep(10 * time.Second)
			s.fail(progressive.Post, 0, progressivetest.Fault{Err: progressive.ErrAmbiguous, Applied: c.done})
			s.status("Two", named("b"))
			time.Sleep(time.Minute)
			s.wantShown(c.then...)
			s.status("Three", named("c"))
			time.Sleep(time.Minute)
			s.wantShown(c.last...)
			s.finish()
			s.wantShown(c.last...)
		}))
	}
}

// ST-18: a replica that adopts an answer with its files updates the existing ones in place, and posts only those that
// are certainly missing. If some are lost, which message shows what is unknown: existing files stay as they are.
func TestFilesAreTakenOver(t *testing.T) {
	both := []chat.Shown{{Part: chat.FirstFile, ID: "m2"}, {Part: chat.FirstFile + 1, ID: "m3"}}
	for name, c := range map[string]struct {
		noted []chat.Shown
		has   []llm.File
		edits int
		want  []string
	}{
		"both stand":     {both, []llm.File{named("b"), named("a")}, 2, []string{prose, "[b]", "[a]"}},
		"one is a doubt": {[]chat.Shown{both[0], {Part: chat.FirstFile + 1}}, []llm.File{named("b"), named("a")}, 1, []string{prose, "[b]", "[b]"}},
		"one is lost":    {both, []llm.File{named("b")}, 0, []string{prose, "[a]", "[b]"}},
	} {
		for kind, sink := range map[string]func(*progressivetest.Chat) progressive.Sink{"nonces": nonced, "no nonces": full} {
			t.Run(name+"/"+kind, subtest.With(withDelivery, sink, func(s *delivery) {
				s.show()
				s.say(prose)
				s.addFiles(named("a"), named("b"))
				s.finish()
				s.run.Epoch, s.run.Verdict = 2, &chat.Verdict{Outcome: completed, Files: 2}
				s.run.Shown = append([]chat.Shown{{Part: 0, ID: "m1"}}, c.noted...)
				s.show()
				s.say(prose)
				s.addFiles(c.has...)
				s.finish()
				s.wantShown(c.want...)
				edits := s.chat.Log(progressive.Edit)
				if n := len(slices.DeleteFunc(edits, func(r progressivetest.Request) bool { return r.Part.File == nil })); n != c.edits || s.count(progressive.Delete) != 0 {
					s.Errorf("%d edits, %d deletions; want %d and none", n, s.count(progressive.Delete), c.edits)
				}
			}))
		}
	}
}

// ST-18: who adopts an answer has no files. What stands of them stays, once; what is missing is told the operator.
func TestFilesOfAnEarlierHolder(t *testing.T) {
	for name, c := range map[string]struct {
		noted []chat.Shown
		gone  bool // one of the files
		log   string
	}{
		"both stand":     {[]chat.Shown{{Part: chat.FirstFile, ID: "m2"}, {Part: chat.FirstFile + 1, ID: "m3"}}, false, ""},
		"one is a doubt": {[]chat.Shown{{Part: chat.FirstFile, ID: "m2"}, {Part: chat.FirstFile + 1}}, false, "files=1"},
		"none is noted":  {nil, false, "files=2"},
	} {
		for kind, sink := range map[string]func(*progressivetest.Chat) progressive.Sink{"nonces": nonced, "no nonces": full} {
			withDelivery(t, sink, func(s *delivery) {
				s.show()
				s.say(prose)
				s.addFiles(picture, picture)
				s.finish()
				before := s.count(progressive.Post)
				s.run.Verdict = &chat.Verdict{Outcome: completed, Files: 2}
				s.run.Shown = append([]chat.Shown{{Part: 0, ID: "m1"}}, c.noted...)
				var log bytes.Buffer
				s.showTo(slog.New(slog.NewTextHandler(&log, nil)))
				s.say(prose)
				s.finish()
				s.wantShown(prose, "[picture-1.png]", "[picture-2.png]")
				if n := s.count(progressive.Post) - before; n != 0 || s.count(progressive.Delete) != 0 {
					s.Errorf("%s, %s: %d more posts", name, kind, n)
				}
				if got := log.String(); strings.Contains(got, "files=") != (c.log != "") || !strings.Contains(got, c.log) {
					s.Errorf("%s, %s: the log says %q", name, kind, got)
				}
			})
		}
	}
}

// Removing the options of an answer doesn't involve its files: they stay.
func TestFilesStayWhenOptionsGo(t *testing.T) {
	withDelivery(t, full, func(s *delivery) {
		s.show()
		s.say(prose)
		s.addFiles(picture, picture)
		s.finish()
		s.run.Verdict, s.run.Kind = nil, chat.RunChoiceResult
		s.run.Shown = []chat.Shown{{Part: 0, ID: "m1"}, {Part: chat.FirstFile, ID: "m2"}, {Part: chat.FirstFile + 1, ID: "m3"}}
		s.show()
		s.say(prose + "\n\n→ Rain")
		s.finish()
		s.wantShown(prose+"\n\n→ Rain", "[picture-1.png]", "[picture-2.png]")
	})
}

// An answer that is rewritten has its own pictures, and one that is taken back none.
func TestFilesGo(t *testing.T) {
	for name, c := range map[string]struct {
		outcome answer.Outcome
		paint   []llm.File
		want    []string
	}{
		"rewritten, with a picture":    {completed, []llm.File{picture}, []string{prose, "[picture-1.png]"}},
		"rewritten, without a picture": {completed, nil, []string{prose}},
		"taken back":                   {answer.Outcome{Status: answer.Stopped, Withdrawn: true}, nil, nil},
	} {
		for _, sink := range []func(*progressivetest.Chat) progressive.Sink{full, nonced} {
			t.Run(name, subtest.With(withDelivery, sink, func(s *delivery) {
				s.show()
				s.say(prose)
				s.addFiles(llm.File{Type: "image/jpeg", Data: []byte("photo")}, picture)
				s.finish()
				s.run.Verdict, s.run.Epoch = nil, 2
				s.show()
				s.say(prose)
				s.addFiles(c.paint...)
				require.NoError(s, s.end(c.outcome))
				s.wantShown(c.want...)
			}))
		}
	}
}
