package progressive_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/subtest"
	"parley/progressive"
	"parley/progressive/markdown"
	"parley/progressive/progressivetest"
)

var errUpload = errors.New("413 without a word")

// filing is a sink that puts long code into files.
type filing struct {
	progressivetest.Full
	prose *progressive.MarkdownMessages
}

func (f filing) Render(v answer.View, refused ...string) []progressive.Part {
	return f.prose.Parts(v, refused...)
}

// filingNonced is one with nonces.
type filingNonced struct{ filing }

func (f filingNonced) NonceWindow() time.Duration { return 2 * time.Minute }

func newFiling(c *progressivetest.Chat) filing {
	return filing{full(c).(progressivetest.Full), progressive.NewMarkdownMessages(progressive.MarkdownOptions{
		Dialect: markdown.Plain(), Limits: markdown.Limits{Length: 200}, MostFile: 1 << 20, LongCode: progressive.InFile,
	})}
}

func files(c *progressivetest.Chat) progressive.Sink { return newFiling(c) }

func filesNonced(c *progressivetest.Chat) progressive.Sink {
	c.Window = 2 * time.Minute
	return filingNonced{newFiling(c)}
}

const lineOfCode = "0123456789 is a line of code."

// coded is an answer with so many lines of code.
func coded(n int) string {
	return "Here is the script:\n\n```\n" + strings.Repeat(lineOfCode+"\n", n) + "```\n\nRun it twice."
}

const noted = "Here is the script:\n\n📎 code.txt, 30 lines\n\nRun it twice."

// wantCode wants the whole code to stand in messages, once, after others.
func (s *delivery) wantCode(n int, others ...string) {
	s.Helper()
	got := s.chat.Shown()
	isFile := func(m string) bool { return strings.HasPrefix(m, "[") }
	rest := slices.DeleteFunc(slices.Clone(got), isFile)
	if found := strings.Count(strings.Join(rest, "\n"), lineOfCode); found != n || strings.Contains(strings.Join(rest, ""), "📎") {
		s.Errorf("%d lines of code stand there: %q", found, got)
	}
	if files := slices.DeleteFunc(got, func(m string) bool { return !isFile(m) }); !slices.Equal(files, others) {
		s.Errorf("the files are %q, want %q", files, others)
	}
}

// ST-11, ST-18: while it is written, long code grows in one message; then it is a file, and no message was deleted for it.
func TestLongCodeIsAFile(t *testing.T) {
	for name, sink := range map[string]func(*progressivetest.Chat) progressive.Sink{"nonces": filesNonced, "no nonces": files} {
		t.Run(name, subtest.With(withDelivery, sink, func(s *delivery) {
			s.show()
			s.stream(coded(30), 100*time.Millisecond)
			time.Sleep(20 * time.Second)
			if shown := s.chat.Shown(); len(shown) != 1 || !strings.Contains(shown[0], "📎 code.txt, 30 lines") {
				s.Errorf("before the end people read %q", shown)
			}
			for _, r := range s.chat.Log(progressive.Post) {
				if r.Part.File != nil {
					s.Error("a file was posted before the end")
				}
			}
			s.finish()
			s.wantShown(noted, "[code.txt]")
			if n := len(s.chat.Log(progressive.Delete)); n > 0 {
				s.Errorf("%d messages were created and deleted; want none", n)
			}
		}))
	}
}

// Nothing of long code is lost, whatever becomes of its file (TR-11, TR-12): what is refused, or may not be there, stands in
// messages.
func TestLongCodeIsDelivered(t *testing.T) {
	inMessages := []string{"unparsable", "ambiguous, undone", "ambiguous, done", "silent", "never"}
	for name, sink := range map[string]func(*progressivetest.Chat) progressive.Sink{"nonces": filesNonced, "no nonces": files} {
		for fault, f := range faults {
			t.Run(fault+"/"+name, subtest.With(withDelivery, sink, func(s *delivery) {
				s.show()
				s.say(coded(30))
				time.Sleep(20 * time.Second)
				s.addFiles(picture)
				s.failFiles(1, f)
				s.finish()
				switch {
				case fault == "forbidden":
					s.wantShown(noted, "[picture-1.png]")
				case fault == "gone":
					s.wantShown()
				case !slices.Contains(inMessages, fault), name == "nonces" && f.Err != progressive.ErrUnparsable:
					s.wantShown(noted, "[picture-1.png]", "[code.txt]")
				case f.Applied, f.Silent:
					s.wantUnknown()
				default:
					s.wantCode(30, "[picture-1.png]")
				}
			}))
		}
		t.Run("never/"+name, subtest.With(withDelivery, sink, func(s *delivery) {
			s.show()
			s.say(coded(30))
			time.Sleep(20 * time.Second)
			s.failFiles(100, progressivetest.Fault{Err: errUpload})
			s.finish()
			s.wantCode(30)
		}))
	}
}

// wantUnknown wants the code in messages, and the file whose creation was not confirmed, and the picture.
func (s *delivery) wantUnknown() {
	s.Helper()
	got := strings.Join(s.chat.Shown(), "\n")
	if strings.Count(got, lineOfCode) != 30 || !strings.Contains(got, "[picture-1.png]") {
		s.Errorf("people read %q", got)
	}
}

// failFiles makes the next n posts of files that hold words meet f.
func (s *delivery) failFiles(n int, f progressivetest.Fault) {
	s.chat.ChangeFate(func(func(progressivetest.Request) progressivetest.Fault) func(progressivetest.Request) progressivetest.Fault {
		return func(r progressivetest.Request) progressivetest.Fault {
			if n > 0 && r.Part.File != nil && r.Part.Plain == "" {
				n--
				return f
			}
			return progressivetest.Fault{}
		}
	})
}

// ST-18: a replica that adopts the answer posts the missing code, and does not repeat what is there. An answer that is
// rewritten removes the old file.
func TestLongCodeOfAnEarlierHolder(t *testing.T) {
	for name, c := range map[string]struct {
		noted   []chat.Shown
		again   string // what is said then
		rewrite bool
		want    []string
	}{
		"it stands":                   {[]chat.Shown{{Part: chat.FirstFile, ID: "m2"}}, coded(30), false, []string{noted, "[code.txt]"}},
		"it is missing":               {nil, coded(30), false, []string{noted, "[code.txt]", "[code.txt]"}}, // the first is in no journal
		"rewritten, with code":        {[]chat.Shown{{Part: chat.FirstFile, ID: "m2"}}, coded(30), true, []string{noted, "[code.txt]"}},
		"rewritten, with less":        {[]chat.Shown{{Part: chat.FirstFile, ID: "m2"}}, prose, true, []string{prose}},
		"rewritten, with longer code": {[]chat.Shown{{Part: chat.FirstFile, ID: "m2"}}, coded(31), true, []string{strings.Replace(noted, "30", "31", 1), "[code.txt]"}},
	} {
		for kind, sink := range map[string]func(*progressivetest.Chat) progressive.Sink{"nonces": filesNonced, "no nonces": files} {
			t.Run(name+"/"+kind, subtest.With(withDelivery, sink, func(s *delivery) {
				s.show()
				s.say(coded(30))
				s.finish()
				s.run.Epoch, s.run.Shown = 2, append([]chat.Shown{{Part: 0, ID: "m1"}}, c.noted...)
				if c.rewrite {
					s.run.Verdict = nil
				}
				var log bytes.Buffer
				s.showTo(slog.New(slog.NewTextHandler(&log, nil)))
				s.say(c.again)
				s.finish()
				s.wantShown(c.want...)
				if strings.Contains(log.String(), "ERROR") {
					s.Error(log.String())
				}
			}))
		}
	}
}

// Who adopts an answer whose file was refused, or is in doubt, shows all of it, too.
func TestRefusedCodeOfAnEarlierHolder(t *testing.T) {
	for name, f := range map[string]progressivetest.Fault{"refused": {Err: progressive.ErrUnparsable}, "in doubt": {Err: progressive.ErrAmbiguous}} {
		withDelivery(t, files, func(s *delivery) {
			s.failFiles(100, f)
			s.show()
			s.say(coded(30))
			s.finish()
			s.wantCode(30)
			s.run.Epoch = 2
			s.show()
			s.say(coded(30))
			s.finish()
			if s.wantCode(30); s.Failed() {
				t.Log(name, fmt.Sprint(s.run.Shown))
			}
		})
	}
}

// The policy is a limit on code alone, and off unless it is asked for.
func TestCodePolicyLeavesProseAlone(t *testing.T) {
	v := answer.View{Segments: []answer.Segment{{Text: coded(30)}}, Outcome: completed}
	o := progressive.MarkdownOptions{Dialect: markdown.Plain(), Limits: markdown.Limits{Length: 200}, Reply: true}
	for code, files := range map[progressive.LongCode]int{"": 0, progressive.InMessages: 0, progressive.InFile: 1} {
		o.LongCode = code
		parts := progressive.NewMarkdownMessages(o).Parts(v)
		got := 0
		for i, p := range parts {
			if p.ReplyTo != (i == 0) {
				t.Errorf("%q: part %d: ReplyTo %t", code, i, p.ReplyTo)
			}
			if p.File != nil {
				got++
				if p.File.Name != "code.txt" || string(p.File.Data) != strings.Repeat(lineOfCode+"\n", 30) || p.Plain != "" {
					t.Errorf("the file is %q", p.File.Data)
				}
			}
		}
		if got != files || files == 0 && len(parts) < 5 {
			t.Errorf("%q: %d files, %d parts", code, got, len(parts))
		}
	}
}
