package stories_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/config"
	"parley/core/answer"
	"parley/core/llm"
	"parley/internal/lang"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/models/modelfake"
)

const fox = "The quick brown fox jumps over the lazy dog, again and again, until the evening comes and it may rest."

func TestAnswer(t *testing.T) {
	withGateway(t, nil, func(s *harness) {
		c := s.newConversation()
		s.model.Queue(modelfake.Script{modelfake.Pace(30 * time.Millisecond), modelfake.Text("Hello, how can I help?", modelfake.ByWord)})
		st := s.send(c, "m1", "Hi")
		done := s.readAll(st)
		if got := *done.FullText; got != "Hello, how can I help?" {
			t.Errorf(`the answer is %q; want "Hello, how can I help?"`, got)
		}
		lines := s.lines(c)
		if len(lines) != 2 || lines[0].Text != "Hi" || lines[0].ClientMessageID != "m1" || lines[1].Text != *done.FullText ||
			lines[1].Role != "assistant" || lines[1].ID != done.MessageID {
			t.Errorf("a reload shows %+v", lines)
		}
		req := s.model.Requests()[0]
		if !strings.Contains(req.System(), "helpful assistant") || req.LastUser() != "Hi" {
			t.Errorf("the model was asked %s", req.Raw)
		}
	})
}

// A gateway could lose B's answer here: A is slow, B arrives meanwhile.
func TestSecondMessageTakesTheRoom(t *testing.T) {
	withGateway(t, nil, func(s *harness) {
		c := s.newConversation()
		s.model.Queue(modelfake.Script{modelfake.Open(), modelfake.Pause(30 * time.Second), modelfake.Text("Answer A")}, modelfake.Script{modelfake.Pause(time.Second), modelfake.Text("Answer B")})
		a := s.send(c, "a", "Question A")
		time.Sleep(2 * time.Second)
		asked := time.Now()
		b := s.send(c, "b", "Question B")
		if got := *s.readAll(b).FullText; got != "Answer B" {
			t.Errorf(`B is answered with %q; want "Answer B"`, got)
		}
		end := s.readAll(a)
		if end.NoResponse != "superseded" || *end.FullText != "" {
			t.Errorf("A ended with %s", end.Raw)
		}
		synctest.Wait()
		first, second := s.model.Requests()[0], s.model.Requests()[1]
		if !first.Cancelled.Equal(asked) {
			t.Errorf("A's model call was cancelled %v after B came", first.Cancelled.Sub(asked))
		}
		if raw := string(second.Raw); !strings.Contains(raw, "Question A") || !strings.Contains(raw, "Question B") {
			t.Errorf(`B's prompt lacks a question: %s; want it to contain "Question A" and it to contain "Question B"`, raw)
		}
	})
}

// What people had read stays, marked, and the next prompt holds it.
func TestSupersededAnswerIsFrozen(t *testing.T) {
	withGateway(t, nil, func(s *harness) {
		c := s.newConversation()
		s.model.Queue(modelfake.Script{modelfake.Text(fox), modelfake.Pause(time.Hour)}, modelfake.Script{modelfake.Text("Answer B")})
		a := s.send(c, "a", "Question A")
		s.readUntil(a, "evening")
		s.readAll(s.send(c, "b", "Question B"))
		end := s.readAll(a)
		if !strings.HasPrefix(*end.FullText, fox) || *end.FullText == fox || !end.Interrupted {
			t.Errorf("A ended with %s", end.Raw)
		}
		if raw := string(s.model.Requests()[1].Raw); !strings.Contains(raw, "quick brown fox") {
			t.Errorf(`B's prompt lacks what A had said: %s; want it to contain "quick brown fox"`, raw)
		}
	})
}

func TestRestartBetweenAnswers(t *testing.T) {
	withGateway(t, nil, func(s *harness) {
		c := s.newConversation()
		s.readAll(s.send(c, "m1", "My name is Ada."))
		s.shutdown()
		s.start()
		s.readAll(s.send(c, "m2", "What is my name?"))
		if raw := string(s.model.Requests()[1].Raw); !strings.Contains(raw, "My name is Ada.") {
			t.Errorf(`the prompt after the restart is %s; want it to contain "My name is Ada."`, raw)
		}
	})
}

// A process that dies in mid-answer leaves a run that the next one brings to its end (I14, IN-10).
func TestCrashDuringAnswer(t *testing.T) {
	withGateway(t, nil, func(s *harness) {
		c := s.newConversation()
		s.model.Queue(modelfake.Script{modelfake.Text(fox), modelfake.Pause(time.Hour)}, modelfake.Script{modelfake.Pace(time.Second), modelfake.Text("A whole answer after all", modelfake.ByWord)})
		st := s.send(c, "m1", "Tell me")
		s.readUntil(st, "evening")
		s.crash()
		if _, err := st.All(); err == nil {
			t.Error("the stream of a dead process ended well")
		}
		s.start()
		if got := *s.readAll(s.send(c, "m1", "Tell me")).FullText; got != "A whole answer after all" {
			t.Errorf(`the adopted run ended with %q; want "A whole answer after all"`, got)
		}
	})
}

// LM-03: neither silence nor keep-alives count as life; a slow model is alive.
func TestStalledModel(t *testing.T) {
	for name, c := range map[string]struct {
		script modelfake.Script
		after  time.Duration
		want   llm.FailureKind
	}{
		"silent":        {modelfake.Script{modelfake.Stall()}, 90 * time.Second, llm.GenerationTimeout},
		"comments only": {modelfake.Script{modelfake.Comments(5 * time.Second)}, 90 * time.Second, llm.GenerationTimeout},
		"in the middle": {modelfake.Script{modelfake.Text("So"), modelfake.Comments(5 * time.Second)}, 75 * time.Second, llm.GenerationTimeout},
		"slow":          {modelfake.Script{modelfake.Pace(50 * time.Second), modelfake.Text("One by one they come", modelfake.ByWord)}, 250 * time.Second, ""},
	} {
		t.Run(name, subtest.With(withGateway, nil, func(s *harness) {
			conv, begun := s.newConversation(), time.Now()
			s.model.Queue(c.script)
			end := s.readAll(s.send(conv, "m1", "Hi"))
			if end.FailureKind != c.want {
				s.Errorf("it ended with %s", end.Raw)
			}
			if took := time.Since(begun); took < c.after || took > c.after+time.Second {
				s.Errorf("it ended after %v", took)
			}
			s.wantModelCalls(1)
		}))
	}
}

// WB-05, WB-06: a run survives its reader, who finds it again.
func TestReaderLeavesAndComesBack(t *testing.T) {
	withGateway(t, nil, func(s *harness) {
		c := s.newConversation()
		s.model.Queue(modelfake.Script{modelfake.Pace(time.Second), modelfake.Text(fox, modelfake.ByWord)})
		st := s.send(c, "m1", "Tell me")
		s.readUntil(st, "brown")
		st.Close()
		time.Sleep(5 * time.Second)
		again := s.send(c, "m1", "Tell me")
		e, err := again.Next()
		for err == nil && e.Type != "token" {
			e, err = again.Next()
		}
		s.Must(err)
		if e.FullText == nil || !strings.HasPrefix(fox, *e.FullText) || len(*e.FullText) < 30 {
			t.Errorf("a reader who joins is given %s", e.Raw)
		}
		if got := *s.readAll(again).FullText; got != fox {
			t.Errorf("it ends with %q; want %q", got, fox)
		}
		late := s.send(c, "m1", "Tell me") // after the end
		if got := *s.readAll(late).FullText; got != fox {
			t.Errorf("afterwards it is %q; want %q", got, fox)
		}
		s.wantModelCalls(1)
	})
}

// WB-05: one message is one run, however often and however simultaneously it is sent; another text under its key is
// refused.
func TestSameMessageFiftyTimes(t *testing.T) {
	withGateway(t, nil, func(s *harness) {
		c := s.newConversation()
		s.model.Queue(modelfake.Script{modelfake.Pace(100 * time.Millisecond), modelfake.Text(fox, modelfake.ByWord)})
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				st, err := s.browser.Send(s.Context(), c, "m1", "Hi")
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := st.All(); err != nil || st.Text() != fox {
					t.Errorf("a reader saw %q, %v; want %q", st.Text(), err, fox)
				}
			})
		}
		wg.Wait()
		s.wantModelCalls(1)
		st := require.Value(s.browser.Send(s.Context(), c, "m1", "Something else"))(s)
		if st.Status != http.StatusConflict || !strings.Contains(st.Body, "CHAT_IDEMPOTENCY_CONFLICT") {
			t.Errorf(`another text got %d %s; want %d and it to contain "CHAT_IDEMPOTENCY_CONFLICT"`, st.Status, st.Body, http.StatusConflict)
		}
	})
}

// WB-02, WB-03: a reader who does not read is disconnected, and delays no one.
func TestSlowReader(t *testing.T) {
	withGateway(t, nil, func(s *harness) {
		c := s.newConversation()
		huge := strings.Repeat(fox+"\n\n", 4000) // far more than the connection takes in
		s.model.Queue(modelfake.Script{modelfake.Pace(10 * time.Millisecond), modelfake.Text(huge, modelfake.ByBytes(1000))})
		slow := s.send(c, "m1", "Tell me all")
		quick := s.send(c, "m1", "Tell me all")
		if got := *s.readAll(quick).FullText; got != huge {
			t.Errorf("the quick reader got %d bytes of %d", len(got), len(huge))
		}
		time.Sleep(20 * time.Second)
		if _, err := slow.All(); err == nil {
			t.Error("the slow reader was waited for")
		}
	})
}

func TestStopEndsTheAnswer(t *testing.T) {
	withGateway(t, nil, func(s *harness) {
		c := s.newConversation()
		s.model.Queue(modelfake.Script{modelfake.Text(fox), modelfake.Pause(time.Hour)}, modelfake.Script{modelfake.Open(), modelfake.Stall()})
		st := s.send(c, "m1", "Tell me")
		s.readUntil(st, "evening")
		s.Must(s.browser.Stop(s.Context(), c))
		if end := s.readAll(st); !end.Interrupted || !strings.HasPrefix(*end.FullText, fox) {
			t.Errorf("stopped in mid-text: %s", end.Raw)
		}
		st = s.send(c, "m2", "And now?")
		time.Sleep(time.Second)
		s.Must(s.browser.Stop(s.Context(), c))
		if end := s.readAll(st); *end.FullText != "Stopped." {
			t.Errorf("stopped before any text: %s", end.Raw)
		}
		if got := *s.readAll(s.send(c, "m3", "Go on")).FullText; got != "You said: Go on" {
			t.Errorf(`after a stop the next answer is %q; want "You said: Go on"`, got)
		}
	})
}

// WB-10: answers within the grace are finished, and their readers see the end, since no other gateway could show it. The other
// streams end with a hint, and their answers are adopted by the next life.
func TestShutdownFinishesAnswers(t *testing.T) {
	withGateway(t, func(c *config.Config) { c.Shutdown = 10 * time.Second }, func(s *harness) {
		short, endless := s.newConversation(), s.newConversation()
		s.model.Queue(modelfake.Script{modelfake.Pace(500 * time.Millisecond), modelfake.Text("This is done in a few seconds.", modelfake.ByWord)})
		a := s.send(short, "m1", "Short")
		s.readUntil(a, "This")
		s.model.Queue(modelfake.Script{modelfake.Text(fox), modelfake.Pause(time.Hour)}, modelfake.Script{modelfake.Text("Adopted.")})
		b := s.send(endless, "m1", "Endless")
		s.readUntil(b, "evening")
		begun := time.Now()
		s.shutdown()
		if took := time.Since(begun); took > 11*time.Second {
			t.Errorf("it took %v", took)
		}
		if got := *s.readAll(a).FullText; got != "This is done in a few seconds." {
			t.Errorf(`the reader of the short answer saw %q; want "This is done in a few seconds."`, got)
		}
		events, err := b.All()
		if !errors.Is(err, io.ErrUnexpectedEOF) || len(events) == 0 || events[len(events)-1].Type != "reconnect" {
			t.Errorf("the other stream ended with %v, %v", events, err)
		}
		s.start()
		if got := *s.readAll(s.send(short, "m1", "Short")).FullText; got != "This is done in a few seconds." {
			t.Errorf(`the short answer is %q; want "This is done in a few seconds."`, got)
		}
		if got := *s.readAll(s.send(endless, "m1", "Endless")).FullText; got != "Adopted." {
			t.Errorf(`the endless answer is %q; want "Adopted."`, got)
		}
		s.wantModelCalls(3)
	})
}

// LM-01, LM-02, LM-06, LM-14, LM-16, LM-17: one budget of three calls, only while nothing can be seen; people read a sentence, the
// log has the whole, and neither has the key.
func TestModelFailuresAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		scripts []modelfake.Script
		calls   int
		kind    llm.FailureKind
		text    string // how the answer begins
	}{
		"busy for a while":     {[]modelfake.Script{{modelfake.Status(503, "")}, {modelfake.RateLimit(7 * time.Second)}, {modelfake.Text("At last")}}, 3, "", "At last"},
		"always busy":          {[]modelfake.Script{{modelfake.RateLimit(0)}, {modelfake.Status(modelfake.StatusOverloaded, "")}, {modelfake.RateLimit(0)}}, 3, llm.RateLimited, llm.RateLimited.Sentence(lang.Voice{})},
		"wrong key":            {[]modelfake.Script{{modelfake.Status(401, "")}}, 1, llm.NoProvider, llm.NoProvider.Sentence(lang.Voice{})},
		"no such model":        {[]modelfake.Script{{modelfake.Status(404, "")}}, 1, llm.NoModel, llm.NoModel.Sentence(lang.Voice{})},
		"another server":       {[]modelfake.Script{{modelfake.Status(200, "<html><title>Welcome</title></html>")}}, 1, llm.WrongAddress, llm.WrongAddress.Sentence(lang.Voice{})},
		"a refused parameter":  {[]modelfake.Script{{modelfake.Status(422, `{"error":{"message":"Extra inputs are not permitted","param":"stream_options"}}`)}, {modelfake.Text("At last")}}, 2, "", "At last"},
		"text in parts":        {[]modelfake.Script{{modelfake.Delta(`{"content":[{"type":"text","text":"It is NOT "}]}`), modelfake.Text("so.")}}, 1, "", "It is NOT so."},
		"only text in parts":   {[]modelfake.Script{{modelfake.Delta(`{"content":[{"type":"text","text":"Bought once."}]}`)}}, 1, "", "Bought once."},
		"no money":             {[]modelfake.Script{{modelfake.NoQuota()}}, 1, llm.InsufficientCredits, llm.InsufficientCredits.Sentence(lang.Voice{})},
		"a page of HTML":       {[]modelfake.Script{{modelfake.BadGateway()}, {modelfake.BadGateway()}, {modelfake.BadGateway()}}, 3, llm.ProviderIssue, llm.ProviderIssue.Sentence(lang.Voice{})},
		"empty, then not":      {[]modelfake.Script{{}, {modelfake.Text("Now")}}, 2, "", "Now"},
		"empty twice":          {[]modelfake.Script{{}, {}}, 2, llm.ProviderIssue, llm.ProviderIssue.Sentence(lang.Voice{})},
		"cut before any text":  {[]modelfake.Script{{modelfake.Open(), modelfake.Cut()}, {modelfake.Text("Now")}}, 2, "", "Now"},
		"cut in mid-text":      {[]modelfake.Script{{modelfake.Text(fox), modelfake.Cut()}}, 1, llm.ProviderIssue, fox},
		"error in the stream":  {[]modelfake.Script{{modelfake.Text(fox), modelfake.ErrorEvent("overloaded", "secret inner text")}}, 1, llm.ProviderIssue, fox},
		"only spaces, then no": {[]modelfake.Script{{modelfake.Text("  \n")}, {modelfake.Text("Now")}}, 2, "", "Now"},
	} {
		t.Run(name, subtest.With(withGateway, nil, func(s *harness) {
			conv := s.newConversation()
			s.model.Queue(c.scripts...)
			end := s.readAll(s.send(conv, "m1", "Hi"))
			if end.FailureKind != c.kind || !strings.HasPrefix(*end.FullText, c.text) {
				s.Errorf("it ended with %s", end.Raw)
			}
			if strings.Contains(end.Raw, "secret inner text") {
				s.Errorf(`people read an internal text: %s; want it without "secret inner text"`, end.Raw)
			}
			if n := len(s.model.Requests()); n != c.calls {
				s.Errorf("the model was asked %d times; want %d", n, c.calls)
			}
			if c.kind != "" {
				s.readAll(s.send(conv, "m2", "Again"))
				last := s.model.Requests()[c.calls]
				if strings.Contains(string(last.Raw), c.kind.Sentence(lang.Voice{})) && c.text != fox {
					s.Errorf("a failure is part of the next prompt: %s", last.Raw)
				}
				if strings.Contains(string(last.Raw), "quick brown fox") != (c.text == fox) {
					s.Errorf("what had been said is not part of the next prompt: %s", last.Raw)
				}
			}
		}))
	}
}

// LM-04, LM-05: what a model calls wrongly is not done, is told to it, and ends for the reader.
func TestWrongCalls(t *testing.T) {
	for name, call := range map[string]modelfake.Step{
		"unknown action":   modelfake.ToolCall("c1", "NO_SUCH_THING", `{}`),
		"half parameters":  modelfake.ToolCall("c1", "NO_SUCH_THING", `{"a":`),
		"no name":          modelfake.ToolCall("c1", "", `{}`),
		"null":             modelfake.NullCall("c1", "NO_SUCH_THING"),
		"two with one id":  modelfake.Interleaved(modelfake.Whole, modelfake.Call{ID: "c1", Name: "A", Arguments: "{}"}, modelfake.Call{ID: "c1", Name: "B", Arguments: "{}"}),
		"parallel, mixed":  modelfake.Interleaved(modelfake.ByBytes(2), modelfake.Call{ID: "c1", Name: "A", Arguments: `{"x":1}`}, modelfake.Call{ID: "c2", Name: "B", Arguments: `{"y":2}`}),
		"an array of none": modelfake.ToolCall("c1", "X", `[]`),
	} {
		t.Run(name, subtest.With(withGateway, nil, func(s *harness) {
			s.model.Queue(modelfake.Script{call}, modelfake.Script{modelfake.Text("I can't do that.")})
			st := s.send(s.newConversation(), "m1", "Do it")
			events := require.Value(st.All())(s)
			starts, ends := map[string]int{}, map[string]int{}
			for _, e := range events {
				if e.Type == "tool" && e.Stage == answer.StageStart {
					starts[e.CallID]++
				}
				if e.Type == "tool" && e.Stage == answer.StageEnd {
					ends[e.CallID]++
				}
			}
			for id, n := range starts {
				if n != 1 || ends[id] != 1 {
					s.Errorf("call %s began %d times and ended %d times; want 1 and 1", id, n, ends[id])
				}
			}
			if len(starts) == 0 || st.Text() != "I can't do that." {
				s.Errorf("the reader saw %v and %q", starts, st.Text())
			}
		}))
	}
}
