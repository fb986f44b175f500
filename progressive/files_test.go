package progressive_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"parley/core"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

const picture = "data:image/png;base64,iVBORw0KGgo="

// paint ends a call that came to pictures.
func (s *story) paint(urls ...string) {
	s.a.Apply(core.Change{Kind: core.ToolStage, Call: "1", Tool: &core.Tool{Name: "PAINT", Stage: core.StageEnd, Success: true, Images: urls}})
}

func TestFiles(t *testing.T) {
	for name, c := range map[string]struct {
		url   string
		file  string
		lines int
	}{
		"a picture":      {picture, "picture-1.png", 0},
		"a photo":        {"data:image/jpeg;base64,/9j/", "picture-1.jpg", 0},
		"a large one":    {"data:image/png;base64," + strings.Repeat("AAAA", 5), "", 1},
		"an address":     {"https://example.com/a.png", "", 0},
		"another kind":   {"data:text/html;base64,AAAA", "", 0},
		"what is broken": {"data:image/png;base64,???", "", 0},
	} {
		v := core.View{Segments: []core.Segment{{Call: "1", Tool: core.Tool{Stage: core.StageEnd, Images: []string{c.url}}}}}
		if parts, lines := progressive.Files(v, 12); parts != nil || lines != nil {
			t.Errorf("%s, before the end: %v %v", name, parts, lines)
		}
		v.Outcome = completed
		parts, lines := progressive.Files(v, 12)
		got := ""
		for _, p := range parts {
			got += p.File.Name
		}
		if got != c.file || len(lines) != c.lines {
			t.Errorf("%s: %q and %q", name, got, lines)
		}
	}
}

// TR-12, TR-11, ST-06: files stand below the whole text, each once, whatever becomes of a request.
func TestFilesAreDelivered(t *testing.T) {
	const one, two, said = "[picture-1.png]", "[picture-2.png]", "(A picture could not be shown here.)"
	expected := map[string][3][]string{ // without nonces, with them
		"ambiguous, undone": {{prose, two}, {prose, one, two}},
		"unparsable":        {{prose, said, two}, {prose, said, two}},
		"forbidden":         {{prose}, {prose}},
	}
	for fault, f := range faults {
		for i, sink := range []func(*progressivetest.Chat) progressive.Sink{full, nonced} {
			t.Run(fault+"/"+[]string{"no nonces", "nonces"}[i], func(t *testing.T) {
				tell(t, sink, func(s *story) {
					s.show()
					s.say(prose)
					s.paint(picture, picture)
					time.Sleep(10 * time.Second)
					s.wantShown(prose)
					s.fail(progressive.Post, 0, f)
					s.finish()
					want, ok := expected[fault]
					switch {
					case fault == "gone": // with nonces or without, nobody is shown again what they took away
						want[i] = []string{two}
					case !ok:
						want[i] = []string{prose, one, two}
					}
					s.wantShown(want[i]...)
				})
			})
		}
	}
}

// ST-18: who adopts an answer has no files. What stands of them stays, once; what is missing is told the operator.
func TestFilesOfAnEarlierHolder(t *testing.T) {
	for name, c := range map[string]struct {
		noted []core.Shown
		gone  bool // one of the files
		log   string
	}{
		"both stand":     {[]core.Shown{{Part: core.FirstFile, ID: "m2"}, {Part: core.FirstFile + 1, ID: "m3"}}, false, ""},
		"one is a doubt": {[]core.Shown{{Part: core.FirstFile, ID: "m2"}, {Part: core.FirstFile + 1}}, false, "files=1"},
		"none is noted":  {nil, false, "files=2"},
	} {
		for kind, sink := range map[string]func(*progressivetest.Chat) progressive.Sink{"nonces": nonced, "no nonces": full} {
			tell(t, sink, func(s *story) {
				s.show()
				s.say(prose)
				s.paint(picture, picture)
				s.finish()
				before := s.count(progressive.Post)
				s.run.Verdict = &core.Verdict{Outcome: completed, Files: 2}
				s.run.Shown = append([]core.Shown{{Part: 0, ID: "m1"}}, c.noted...)
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

// An answer that is written anew has its own pictures, and one that is taken back none.
func TestFilesGo(t *testing.T) {
	for name, c := range map[string]struct {
		outcome core.Outcome
		paint   []string
		want    []string
	}{
		"written anew, with a picture":    {completed, []string{picture}, []string{prose, "[picture-1.png]"}},
		"written anew, without a picture": {completed, nil, []string{prose}},
		"taken back":                      {core.Outcome{Status: core.Stopped, Withdrawn: true}, nil, nil},
	} {
		for _, sink := range []func(*progressivetest.Chat) progressive.Sink{full, nonced} {
			t.Run(name, func(t *testing.T) {
				tell(t, sink, func(s *story) {
					s.show()
					s.say(prose)
					s.paint("data:image/jpeg;base64,/9j/", picture)
					s.finish()
					s.run.Verdict, s.run.Epoch = nil, 2
					s.show()
					s.say(prose)
					s.paint(c.paint...)
					if err := s.end(c.outcome); err != nil {
						s.Error(err)
					}
					s.wantShown(c.want...)
				})
			})
		}
	}
}
