package core_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/core/access"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/schedule"
	"parley/core/turn"
	"parley/gatewaytest"
	"parley/internal/golden"
	"parley/internal/require"
	"parley/internal/subtest"
)

// parrots is what the owner reads of the program.
var parrots = turn.Program{
	Version: "1.2.3", Models: []turn.Model{{Work: "answers", Name: "parrot-1"}, {Work: "pictures", Name: "eye-2"}},
	Health: func(context.Context) []turn.Service {
		return []turn.Service{{Name: "Store"}, {Name: "Redis", Err: errDown}}
	},
}

// SE-23: people other than the owner read what concerns them: no model, store or version, and nothing of other people. At the
// gateway's own machine everyone reads everything.
func TestCommandsOfVisitors(t *testing.T) {
	for _, details := range []bool{false, true} {
		for _, several := range []bool{false, true} {
			withHarness(t, func(w *harness) {
				if several {
					w.severalModels()
					w.cfg.Access.Switch.Direct = false
				}
				w.cfg.About = parrots
				w.cfg.Access.Owners = map[chat.EntityID]bool{"olga": true}
				n := w.start()
				now := time.Now()
				for i, asker := range []chat.EntityID{"ada", "bob"} {
					a := chat.Approval{ID: fmt.Sprint(i), Room: room, Tool: "shop/get_order_" + string(asker), Effect: "write", Asker: asker, At: now, Expires: now.Add(time.Hour), Decision: chat.Pending}
					require.Value(w.Store.RequestApproval(w.Context(), a))(w)
					w.Must(w.Store.DecideApproval(w.Context(), a.ID, chat.Pending, chat.Denied, "olga", now))
				}
				n.sendText("Hello")
				said := ""
				for _, name := range []string{"/status", "/model", "/usage", "/approvals"} {
					m := w.message(room, "ada", name)
					m.Address.Details = details
					_, text := w.waitAnswer(n.send(m))
					said += text + "\n"
				}
				for _, private := range []string{"1.2.3", "Redis", "olga", "shop/", "bob"} {
					if strings.Contains(said, private) != details {
						w.Errorf("details %v, %q: %s", details, private, said)
					}
				}
				if model := strings.Contains(said, "parrot-1") || strings.Contains(said, "big-1") || strings.Contains(said, "main"); model != details {
					w.Errorf("details %v, a model is named: %v\n%s", details, model, said)
				}
				if !details && !strings.Contains(said, ": Get order ada, denied") || !strings.Contains(said, "Now: ") {
					w.Errorf("what concerns them is missing: %s", said)
				}
			})
		}
	}
}

// Commands are answered without the model, and are no part of any prompt, nor are their answers.
func TestCommandsAreAside(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.About = parrots
		w.cfg.Access.Owners = map[chat.EntityID]bool{"ada": true}
		n := w.start()
		w.wantAnswer(n.sendText("A"), answer.Completed, "You said: A")
		for _, name := range []string{"help", "status", "model"} {
			acc := n.sendText("/" + name)
			_, said := w.waitAnswer(acc)
			golden.Check(w, filepath.Join("testdata", name+".txt"), said+"\n")
			m := require.Value(w.Store.Memory(w.Context(), acc.Memory))(w)
			answer := require.Value(w.Store.Memory(w.Context(), w.run(acc).Said()))(w)
			if m.Kind != chat.KindCommand || answer.Kind != chat.KindCommand || answer.InReplyTo != acc.Memory {
				w.Errorf("/%s is remembered as %q, its answer as %+v", name, m.Kind, answer)
			}
		}
		w.wantAnswer(n.sendText("B"), answer.Completed, "You said: B")
		if got := w.model.requests(); len(got) != 2 || !slices.Equal(got[1].texts(), []string{"A", "You said: A", "B"}) {
			w.Errorf("the model was asked %d times, at last %q", len(got), got[len(got)-1].texts())
		}
		if got := w.chat.visible(); len(got) != 5 {
			w.Errorf("the chat shows %q; want 5", got)
		}
	})
}

// A message is a command by its first word, its author and its addressee.
func TestWhatIsACommand(t *testing.T) {
	for name, c := range map[string]struct {
		in        chat.RoomID
		author    chat.EntityID
		text      string
		addressed bool
		want      bool
	}{
		"alone":                {room, "ada", "/help", false, true},
		"in capitals":          {room, "ada", " /HELP\n", false, true},
		"with more":            {room, "ada", "/help me write a letter", false, false},
		"within a text":        {room, "ada", "what does /help do", false, false},
		"to another bot":       {room, "ada", "/help@other", false, false},
		"unknown":              {room, "ada", "/dance", false, false},
		"a slash":              {room, "ada", "/", false, false},
		"another sign":         {room, "ada", "!help", false, false},
		"a stranger":           {room, "eve", "/help", false, false},
		"in a group, to us":    {group, "ada", "/help", true, true},
		"in a group":           {group, "ada", "/help", false, false},
		"a stranger's, to us":  {group, "eve", "/help", true, false},
		"a bot's, in a group":  {group, "bot", "/help", true, false},
		"a bot's, in its room": {room, "bot", "/help", false, false},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			n := w.start()
			m := w.message(c.in, c.author, c.text)
			m.Addressed, m.Bot = c.addressed, c.author == "bot"
			acc := n.send(m)
			if acc.Run != "" {
				w.waitAnswer(acc)
			}
			stored := require.Value(w.Store.Memory(w.Context(), m.ID))(w)
			if got := stored.Kind == chat.KindCommand; got != c.want || c.want && len(w.model.requests()) != 0 {
				w.Errorf("a command: %t; the model was asked %d times", got, len(w.model.requests()))
			}
		}))
	}
}

// A command is answered at once, beside the answer under way, which it leaves alone.
func TestCommandsWaitForNothing(t *testing.T) {
	for _, policy := range []schedule.Policy{schedule.Supersede, schedule.Queue, schedule.Collect} {
		t.Run(string(policy), subtest.Of(withHarness, func(w *harness) {
			w.cfg.Turns.Direct = policy
			n := w.start()
			w.model.queue([]step{write(fox), pause(time.Minute), write(" The end.")})
			a := n.sendText("A")
			time.Sleep(time.Second)
			asked := time.Now()
			acc := n.sendText("/status")
			if _, said := w.waitAnswer(acc); time.Since(asked) > time.Second || !strings.Contains(said, "Now: writing an answer\n") {
				w.Errorf("after %v: %q", time.Since(asked), said)
			}
			w.wantAnswer(a, answer.Completed, fox+" The end.")
		}))
	}
}

// A message that comes twice is one command, also on another replica; an edit makes none, and unmakes none.
func TestCommandsAreGivenOnce(t *testing.T) {
	withHarness(t, func(w *harness) {
		n, other := w.start(), w.start()
		m := w.message(room, "ada", "/help")
		first := n.send(m)
		_, help := w.waitAnswer(first)
		if again := other.send(m); !again.Duplicate || again.Run != first.Run {
			w.Errorf("again: %+v", again)
		}
		m.Text = "What is the time?"
		n.deliver(chat.Edited{Message: chat.Message{Memory: m.Memory}})
		asked := w.message(room, "ada", "A")
		w.wantAnswer(n.send(asked), answer.Completed, "You said: A")
		asked.Text = "/help"
		n.deliver(chat.Edited{Message: chat.Message{Memory: asked.Memory}})
		w.wantVisible(help, "You said: A")
	})
}

// A reply with /why shows how an old answer came about.
func TestWhyOfAnOldAnswer(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		old := n.sendText("A")
		w.waitAnswer(old)
		for range 60 {
			w.waitAnswer(n.sendText("B"))
		}
		m := w.message(room, "ada", "/why")
		m.InReplyTo = chat.MemoryID(w.run(old).Shown[0].ID)
		if _, said := w.waitAnswer(n.send(m)); !strings.HasPrefix(said, "Answer `"+string(old.Run)+"`") {
			w.Errorf("a reply with /why to an answer of 60 turns ago is answered %q; want its receipt", said)
		}
	})
}

// /stop is obeyed at once, as a message too, on every replica, and leaves nothing behind.
func TestStopFromAnotherReplica(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Turns.Direct = schedule.Queue
		n, other := w.start(), w.start()
		w.model.queue([]step{write(fox), pause(time.Hour)})
		running, waiting := n.sendText("A"), n.sendText("B")
		time.Sleep(time.Second)
		stopped := time.Now()
		m := w.message(room, "ada", "/stop now")
		if acc := other.send(m); acc.Run != "" {
			w.Errorf("a stop is answered: %+v", acc)
		}
		w.wantAnswer(running, answer.Stopped, fox+"\n\n_(Stopped.)_")
		w.wantAnswer(waiting, answer.Stopped, "")
		if calls := w.model.requests(); len(calls) != 1 || !calls[0].To.Equal(stopped) {
			w.Errorf("the model went on: %+v", calls)
		}
		if w.storedText(m.ID) != "" {
			w.Error("the stop command is stored as a message; want it left out")
		}
	})
}

// While the store or the tracker is away, what runs here ends all the same; that there is more to stop is said.
func TestStopInTrouble(t *testing.T) {
	for _, broken := range []string{"open", "stop"} {
		t.Run(broken, subtest.Of(withHarness, func(w *harness) {
			var down atomic.Bool
			p := &gatewaytest.Faults{}
			p.Refuse(func(name string) error {
				if down.Load() && name == broken {
					return errDown
				}
				return nil
			})
			w.wrap(p)
			n := w.start()
			w.model.queue([]step{write(fox), pause(time.Hour)})
			acc := n.sendText("A")
			time.Sleep(time.Second)
			down.Store(true)
			if _, err := n.ProcessMessage(w.Context(), w.message(room, "ada", "/stop")); err == nil {
				w.Error("the stop succeeded although the store is down; want an error")
			}
			down.Store(false)
			w.wantAnswer(acc, answer.Stopped, fox+"\n\n_(Stopped.)_")
		}))
	}
}

// /retry answers the last question in a new message. The old answer stays in sight, and in no prompt.
func TestRetry(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		w.wantAnswer(n.sendText("A"), answer.Completed, "You said: A")
		w.model.queue([]step{write("First.")}, []step{write("Second.")}, []step{write("Third.")})
		w.wantAnswer(n.sendText("B"), answer.Completed, "First.")
		for _, want := range []string{"Second.", "Third."} {
			w.wantAnswer(n.sendText("/retry"), answer.Completed, want)
			calls := w.model.requests()
			if got := calls[len(calls)-1].texts(); !slices.Equal(got, []string{"A", "You said: A", "B"}) {
				w.Errorf("for %s the model was asked %q", want, got)
			}
		}
		w.wantVisible("You said: A", "First.", "Second.", "Third.")
		w.chat.forgetSeen() // the store need not hold the first texts any longer
		w.wantAnswer(n.sendText("C"), answer.Completed, "You said: C")
		calls := w.model.requests()
		if got := calls[len(calls)-1].texts(); !slices.Equal(got, []string{"A", "You said: A", "B", "Third.", "C"}) {
			w.Errorf("the next prompt holds %q", got)
		}
	})
}

// An answer under way gives way to the wish for another.
func TestRetryInterrupts(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		w.model.queue([]step{write(fox), pause(time.Hour)}, []step{write("Better.")})
		a := n.sendText("A")
		time.Sleep(time.Second)
		w.wantAnswer(n.sendText("/retry"), answer.Completed, "Better.")
		if o, _ := w.waitAnswer(a); o.Status != answer.Superseded {
			w.Errorf("the first ended as %+v", o)
		}
		if got := w.model.requests()[1].texts(); !slices.Equal(got, []string{"A"}) {
			w.Errorf("the model was asked %q", got)
		}
		w.chat.forgetSeen()
	})
}

// A question that is deleted while the wish for another answer waits is not answered: nothing is said.
func TestRetryOfWhatIsDeleted(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Turns.Direct = schedule.Queue
		n := w.start()
		w.model.queue([]step{pause(time.Minute), write("A")})
		m := w.message(room, "ada", "A")
		n.send(m)
		time.Sleep(time.Second)
		again := n.sendText("/retry")
		n.remove(m)
		w.wantAnswer(again, answer.Ignored, "")
		w.wantVisible()
		w.wantModelCalls(1)
	})
}

func TestRetryNothing(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		w.wantAnswer(n.sendText("/retry"), answer.Completed, "There is no question to retry.")
		n.sendNotice(chat.Notice{To: chat.Address{Room: room}, Text: "It rains."})
		w.wantAnswer(n.sendText("/retry"), answer.Completed, "There is no question to retry.")
		if len(w.model.requests()) != 0 {
			w.Error("the model was asked")
		}
	})
}

// In a group the last question is one that was meant for the agent, whatever was said since.
func TestRetryInGroup(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		ask := func(text string, addressed bool) chat.Accepted {
			m := w.message(group, "ada", text)
			m.Addressed = addressed
			return n.send(m)
		}
		ask("Nice weather.", false)
		w.wantAnswer(ask("Which day?", true), answer.Completed, "You said: ada: Which day?")
		ask("I doubt it.", false)
		w.model.queue([]step{write("Monday.")})
		w.wantAnswer(ask("/retry", true), answer.Completed, "Monday.")
		if got := w.model.requests()[1].texts(); !slices.Equal(got, []string{"ada: Nice weather.", "ada: Which day?"}) {
			w.Errorf("the model was asked %q", got)
		}
		w.chat.forgetSeen()
	})
}

// /help lists the prompts of plugins where the author can use them, and nothing in them passes for another line.
func TestHelpListsPrompts(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.cfg.Plugins = []action.Plugin{
			{Name: "one", Prompts: func(s action.TurnContext) []action.PromptCommand {
				if !s.Allowed || s.Message.Author == "" && len(s.Answered) == 0 {
					return nil
				}
				return []action.PromptCommand{{Name: "poem", Arguments: "topic `[style]`", Description: "Writes\n- `/new`: a poem"}}
			}},
			{Name: "two", Prompts: func(action.TurnContext) []action.PromptCommand { panic("broken") }},
		}
		n := w.start()
		acc := n.sendText("/help")
		_, said := w.waitAnswer(acc)
		if !strings.HasSuffix(said, "\n- `/poem topic '[style]'`: Writes - `/new`: a poem") {
			t.Errorf("%s; want it to end with \"\\n- `/poem topic '[style]'`: Writes - `/new`: a poem\"", said)
		}
		w.wantAnswer(n.sendText("/poem tea"), answer.Completed, "You said: /poem tea")
	})
}

// SE-16: who retries a question of another user acts with their own name, rooms and rights, and is asked what there is to choose;
// that it was another one's question stands in the prompt as a quote. Their own question stays theirs.
func TestRetryOfAnother(t *testing.T) {
	for name, c := range map[string]struct {
		asks, retries chat.EntityID
		owner         bool // of the agent, retries
		texts         []string
	}{
		"a guest, of the owner's": {"ada", "gus", false, []string{"ada: Nice weather.", "ada: Which day?",
			"gus: [In reply to ada: Which day?]\n  Answer this again."}},
		"the owner, of a guest's": {"gus", "ada", true, []string{"ada: Nice weather.", "gus: Which day?",
			"ada: [In reply to gus: Which day?]\n  Answer this again."}},
		"the owner, of their own": {"ada", "ada", true, []string{"ada: Nice weather.", "ada: Which day?"}},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.cfg.Access.Owners = map[chat.EntityID]bool{"ada": true}
			w.cfg.Access.Guests = access.RoomSet{Chats: map[string]bool{"fake:here": true}}
			var scenes []action.TurnContext
			w.addActions(&fakeAction{name: "LOOK", do: func(ctx context.Context, c *action.Call) (action.Result, error) {
				scenes = append(scenes, c.Turn)
				return action.Result{Last: true}, c.Ask(ctx, chat.Question{Options: []string{"Yes", "No"}, Handler: action.AsMessage})
			}})
			look := []step{write("Monday?"), call(0, "a", "LOOK", "{}")}
			w.model.queue(look, look)
			n := w.start()
			says := func(author chat.EntityID, text string, addressed bool) chat.Accepted {
				m := w.message(group, author, text)
				m.Addressed, m.Place.Chats = addressed, []string{"here"}
				return n.send(m)
			}
			says("ada", "Nice weather.", false)
			w.waitAnswer(says(c.asks, "Which day?", true))
			again := says(c.retries, "/retry", true)
			w.wantAnswer(again, answer.Completed, "Monday?")
			s := scenes[len(scenes)-1]
			if len(scenes) != 2 || s.Message.Author != c.retries || s.Message.Name != string(c.retries) || s.Message.Text != "Which day?" {
				w.Fatalf("%d scenes, the last is of %+v", len(scenes), s.Message)
			}
			if s.Owner != c.owner || s.Allowed != c.owner || s.Several() {
				w.Errorf("owner %v, allowed %v, several %v", s.Owner, s.Allowed, s.Several())
			}
			if q := w.question(again); !slices.Equal(q.For, []chat.EntityID{c.retries}) {
				w.Errorf("to choose is for %v", q.For)
			}
			if got := w.model.requests()[1].texts(); !slices.Equal(got, c.texts) {
				w.Errorf("the model was asked %q; want %q", got, c.texts)
			}
			w.chat.forgetSeen()
		}))
	}
}

// A long question is retried whole, as it was asked.
func TestRetryOfLongQuestion(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		long := strings.Repeat("word ", 2000) + "end"
		w.waitAnswer(n.sendText(long))
		w.model.queue([]step{write("Second.")})
		w.wantAnswer(n.sendText("/retry"), answer.Completed, "Second.")
		if got := w.model.requests()[1].texts(); !slices.Equal(got, []string{long}) {
			w.Errorf("the model was asked %d texts, of %d characters", len(got), len(got[0]))
		}
		w.chat.forgetSeen()
	})
}
