package core_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/access"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/storage"
	"parley/core/storage/storagetest"
)

// narrator runs a test on a store of which one call fails. It delivers what was refused again, as platforms do.
type narrator struct {
	*harness
	n        *process
	double   *failingStore
	returned bool // the error reached a caller
}

// again repeats what fails because the store failed.
func (s *narrator) again(do func() error) {
	s.Helper()
	for range 2 {
		err := do()
		if err == nil {
			return
		}
		if !errors.Is(err, errOnce) {
			s.Fatalf("refused with %v", err)
		}
		s.returned = true
		time.Sleep(time.Second)
	}
	s.Fatalf("refused twice after %s failed", s.double.failedCall())
}

func (s *narrator) tell(in chat.Inbound) (acc chat.Accepted) {
	s.Helper()
	s.again(func() (err error) { acc, err = s.n.ProcessMessage(s.Context(), in); return err })
	return acc
}

func (s *narrator) say(text string) chat.Accepted {
	s.Helper()
	return s.tell(s.message(room, "ada", text))
}

func (s *narrator) hears(who chat.EntityID, text string) string {
	s.Helper()
	_, said := s.waitAnswer(s.tell(s.message(chat.RoomID("fake/"+who), who, text)))
	return said
}

var failingStories = map[string]func(s *narrator){
	"an answer": func(s *narrator) {
		s.waitAnswer(s.say("A"))
	},
	"an action": func(s *narrator) {
		s.model.queue([]step{write(fox), call(0, "a", "WRITE", "{}")}, []step{write("Done.")})
		s.waitAnswer(s.say("A"))
	},
	"an edit": func(s *narrator) {
		m := s.message(room, "ada", "A")
		acc := s.tell(m)
		s.waitAnswer(acc)
		m.Text = "B"
		s.tell(chat.Edited{Message: chat.Message{Memory: m.Memory}})
		time.Sleep(time.Minute)
		s.waitAnswer(acc)
		s.chat.forgetSeen() // an answer changes after its end, or is forgotten
	},
	"an edit of what is being answered": func(s *narrator) {
		s.model.queue([]step{write(fox), pause(time.Hour)})
		m := s.message(room, "ada", "A")
		acc := s.tell(m)
		time.Sleep(10 * time.Second)
		m.Text = "B"
		s.tell(chat.Edited{Message: chat.Message{Memory: m.Memory}})
		time.Sleep(time.Minute)
		s.waitAnswer(acc)
		s.chat.forgetSeen() // an answer changes after its end, or is forgotten
	},
	"a deletion": func(s *narrator) {
		m := s.message(room, "ada", "A")
		s.waitAnswer(s.tell(m))
		s.tell(chat.Deleted{Room: room, ID: m.ID})
		if text := s.storedText(m.ID); text != "" {
			s.Errorf("%q is remembered; want none", text)
		}
		s.chat.forgetSeen() // an answer changes after its end, or is forgotten
	},
	"a deletion of what is being answered": func(s *narrator) {
		s.model.queue([]step{write(fox), pause(time.Minute)})
		m := s.message(room, "ada", "A")
		acc := s.tell(m)
		time.Sleep(10 * time.Second)
		s.tell(chat.Deleted{Room: room, ID: m.ID})
		if o, said := s.waitAnswer(acc); !o.Withdrawn || said != "" || s.storedText(m.ID) != "" {
			s.Errorf("it ended as %+v, %q is remembered", o, said)
		}
	},
	"a reaction": func(s *narrator) {
		acc := s.say("A")
		_, said := s.waitAnswer(acc)
		s.tell(chat.Reaction{Room: room, Author: "ada", Name: "Ada", On: s.run(acc).Said(), Emoji: "👍", Added: true, At: time.Now()})
		s.wantStored(room, "A", said, chat.Reaction{Emoji: "👍", Added: true}.Line(chat.Memory{ID: "x", Text: said}, true))
	},
	"a linked page": func(s *narrator) {
		s.model.queue([]step{write("Read.")})
		s.waitAnswer(s.say("See https://a.example/x"))
	},
	"/new": func(s *narrator) {
		s.waitAnswer(s.say("A"))
		s.waitAnswer(s.say("/new"))
		s.waitAnswer(s.say("forget it"))
		s.chat.forgetSeen() // an answer changes after its end, or is forgotten
	},
	"/retry": func(s *narrator) {
		s.model.queue([]step{write("First.")}, []step{write("Second.")})
		s.waitAnswer(s.say("A"))
		s.waitAnswer(s.say("/retry"))
		s.chat.forgetSeen() // an answer changes after its end, or is forgotten
	},
	"/why": func(s *narrator) {
		s.waitAnswer(s.say("A"))
		if _, said := s.waitAnswer(s.say("/why")); !strings.Contains(said, "completed") {
			s.Errorf("it says %q; want the receipt", said)
		}
	},
	"commands": func(s *narrator) {
		for _, command := range []string{"/notify on", "/link", "/unlink", "/memory", "/language de"} {
			s.waitAnswer(s.say(command))
		}
	},
	"a code that links": func(s *narrator) {
		said := s.hears("olga", "/link "+s.codeIn(s.hears("ada", "/link")))
		if !strings.Contains(said, "your account, too?") {
			s.Errorf("the code is answered %q; want the question", said)
		}
		s.chat.forgetSeen() // the question stays open
	},
	"a choice": func(s *narrator) {
		s.waitAnswer(s.say("A"))
		var acc chat.Accepted
		s.again(func() (err error) {
			acc, err = s.n.Say(s.Context(), chat.Notice{To: chat.Address{Room: room}, Key: "k", Text: "Which?", Ask: &chat.Question{
				Options: []string{"Yes", "No"}, For: []chat.EntityID{"ada"}, Handler: "test",
			}})
			return err
		})
		s.waitAnswer(acc)
		s.waitAnswer(s.tell(chat.Choice(pressed(s.question(acc), 0))))
		s.chat.forgetSeen() // an answer changes after its end, or is forgotten
	},
	"pairing": func(s *narrator) {
		code := s.codeIn(s.hears("eve", "Hello"))
		s.hears("olga", "/pair "+code)
		if said := s.hears("eve", "And now?"); said != "You said: And now?" {
			s.Errorf(`who was let in hears %q; want "You said: And now?"`, said)
		}
	},
	"a stop": func(s *narrator) {
		s.model.queue([]step{write(fox), pause(time.Hour)})
		acc := s.say("A")
		time.Sleep(10 * time.Second)
		s.tell(chat.Command{Room: room, Author: "ada", Name: chat.Stop})
		if o, _ := s.waitAnswer(acc); o.Status != answer.Stopped {
			s.Errorf("it ended as %+v", o)
		}
	},
	"a stop by a paired user": func(s *narrator) {
		s.hears("olga", "/pair "+s.codeIn(s.hears("eve", "Hello")))
		s.model.queue([]step{write(fox), pause(time.Hour)})
		acc := s.tell(s.message("fake/eve", "eve", "A"))
		time.Sleep(10 * time.Second)
		s.tell(chat.Command{Room: "fake/eve", Author: "eve", Name: chat.Stop})
		if o, _ := s.waitAnswer(acc); o.Status != answer.Stopped {
			s.Errorf("it ended as %+v", o)
		}
	},
	"a stop of what is asked": func(s *narrator) {
		s.waitAnswer(s.say("A"))
		asked := s.say("/new")
		s.waitAnswer(asked)
		s.tell(chat.Command{Room: room, Author: "ada", Name: chat.Stop})
		if acc := s.tell(chat.Choice(pressed(s.question(asked), 0))); acc.Refused != "This question has closed." {
			s.Errorf("it is still open: %+v", acc)
		}
		time.Sleep(time.Minute)
		s.chat.forgetSeen() // its buttons went after its end
	},
	"a failure that a bot is not told": func(s *narrator) {
		hears := func() {
			m := s.message(group, "robot", "Hello")
			m.Bot, m.Addressed = true, true
			s.waitAnswer(s.tell(m))
		}
		hears()
		s.model.queue([]step{fails(&llm.Failure{Kind: llm.NoProvider, Err: errDown})})
		hears()
	},
	"a later turn": func(s *narrator) {
		s.model.queue([]step{write(fox), pause(time.Minute)})
		a := s.say("A")
		time.Sleep(10 * time.Second)
		b := s.say("B")
		s.waitAnswer(b)
		s.waitAnswer(a)
	},
	"a restart": func(s *narrator) {
		s.model.queue([]step{write(fox), pause(time.Hour)})
		a := s.say("A")
		time.Sleep(10 * time.Second)
		s.n.shutdown()
		s.n = s.start()
		s.waitAnswer(a)
	},
}

// toldOf is what people read where a call failed that is not repeated for them.
var toldOf = map[string]string{"Clear": "That didn't work. Please try again."}

// One call of the store fails, whichever it is: what was accepted is answered, once, and the room goes on. The error is returned
// or logged.
func TestOneCallOfTheStoreFails(t *testing.T) {
	for name, story := range failingStories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls, want := playFailing(t, story, &failingStore{}, nil)
			if len(calls) < 8 {
				t.Fatalf("the story has only the calls %q", calls)
			}
			for at, method := range calls {
				nth := countOf(method, calls[:at+1])
				t.Run(fmt.Sprint(method, nth), func(t *testing.T) { playFailing(t, story, &failingStore{method: method, nth: nth}, want) })
			}
		})
	}
}

// times are the parts of a receipt that a failure delays.
var times = regexp.MustCompile(`Asked: [0-9-]+ [0-9:]+|after [0-9.]+m?s|attempts: \d`)

// shownByRoom returns the texts in the chat, room by room, without codes and times.
func (w *harness) shownByRoom() (texts []string) {
	for _, p := range w.chat.posts {
		if in, _, _ := strings.Cut(string(p.run), "#"); !p.gone {
			texts = append(texts, in+": "+times.ReplaceAllString(codes.ReplaceAllString(p.text, "CODE"), ""))
		}
	}
	slices.SortStableFunc(texts, func(a, b string) int {
		return strings.Compare(strings.SplitN(a, ":", 2)[0], strings.SplitN(b, ":", 2)[0])
	})
	return texts
}

// playFailing lets a call of the store fail, and wants the chat to show the same as without.
func playFailing(t *testing.T, story func(*narrator), double *failingStore, want []string) (calls, shows []string) {
	withHarness(t, func(w *harness) {
		s := &narrator{harness: w, double: double}
		w.cfg.Store = s.double.wrap(w.cfg.Store)
		w.cfg.Reader, w.cfg.ReadLinks = &fakeReader{}, true
		w.cfg.Access.Direct = access.DirectPairing
		w.cfg.Access.Owners = map[chat.EntityID]bool{"olga": true}
		w.cfg.Access.Bots, w.cfg.Access.Allowed.Accounts["robot"] = access.BotsMention, true
		do := &fakeAction{name: "WRITE", effect: action.Writes, do: func(_ context.Context, c *action.Call) (action.Result, error) {
			c.Update("Under way.")
			return action.Result{Text: "done"}, nil
		}}
		w.cfg.Plugins = []action.Plugin{{Name: "test", Actions: []action.Action{do}, ChoiceHandlers: []action.ChoiceHandler{&chooser{says: "So be it."}}, Commands: []action.Command{
			{Name: chat.MemoryCommand, Run: func(_ context.Context, c action.CommandCall) (string, error) { return "Of " + string(c.Room.ID), nil }},
		}}}
		s.n = w.start()
		story(s)
		synctest.Wait()
		calls = slices.Clone(s.double.calls)
		if _, said := s.waitAnswer(s.say("After")); said != "You said: After" {
			w.Errorf(`later it says %q; want "You said: After"`, said)
		}
		shows = w.shownByRoom()
		if told := toldOf[s.double.failedCall()]; told != "" && strings.Contains(strings.Join(shows, ""), told) {
			want = shows
		}
		if want != nil && !slices.Equal(shows, want) {
			w.Errorf("the chat shows\n%q, want\n%q", shows, want)
		}
		if failed := s.double.failedCall(); failed != "" && !s.returned && !strings.Contains(w.Logged.String(), errOnce.Error()) {
			w.Errorf("the error of %s is neither returned nor logged", failed)
		}
		if do.times() > 1 {
			w.Errorf("the action wrote %d times; want at most 1", do.times())
		}
		if w.Failed() {
			w.Logf("failed was call %d of %s of %q", double.nth, s.double.failedCall(), s.double.calls)
		}
	})
	return calls, shows
}

var errOnce = errors.New("the store failed once")

// periodic are calls that are made again soon: tests do not fail each of them. Tests of leases and upkeep do that.
var periodic = []string{"RenewLease", "OpenRooms", "Expire"}

// failingStore makes one call of a store fail, once, before the store has done anything. The call is named by its method, because calls of
// different goroutines have no fixed order.
type failingStore struct {
	method string
	nth    int // which call of the method fails, from 1; 0 is none

	mu    sync.Mutex
	calls []string
}

// wrap returns s with this fault.
func (f *failingStore) wrap(s storage.Store) storage.Store {
	return &storagetest.Interceptor{Store: s, Around: func(_ context.Context, c storagetest.Call, do func() error) error {
		if !slices.Contains(periodic, c.Method) && f.shouldFail(c.Method) {
			return errOnce
		}
		return do()
	}}
}

// shouldFail adds a call, and reports whether it is the one that fails.
func (f *failingStore) shouldFail(method string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, method)
	return method == f.method && countOf(method, f.calls) == f.nth
}

// failedCall is the name of the call that failed, or "".
func (f *failingStore) failedCall() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nth == 0 || countOf(f.method, f.calls) < f.nth {
		return ""
	}
	return f.method
}

// countOf is how many of calls have that method.
func countOf(method string, calls []string) (n int) {
	for _, c := range calls {
		if c == method {
			n++
		}
	}
	return n
}
