package core_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/core/access"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/generate"
	"parley/core/llm"
	"parley/core/quota"
	"parley/core/schedule"
	"parley/core/storage"
	"parley/core/turn"
	"parley/gatewaytest"
	"parley/internal/require"
	"parley/internal/subtest"
	"parley/plugins/essentials"
)

const included = "_(Your new message is included.)_"

// steering returns a harness's action that takes a minute, with the steering policy.
func (w *harness) steering() *fakeAction {
	w.cfg.Turns.Direct = schedule.Steer
	look := &fakeAction{name: "LOOK", effect: action.Reads, limit: 2 * time.Minute, do: takes(time.Minute)}
	w.addActions(look)
	return look
}

// A message of the asker joins at the next boundary: the calls and the text so far stay, and one answer serves both.
func TestSteer(t *testing.T) {
	withHarness(t, func(w *harness) {
		look := w.steering()
		n := w.start()
		w.model.queue([]step{write(fox), call(0, "c", "LOOK", "{}")}, []step{write("Both done.")})
		a := n.sendText("A")
		time.Sleep(10 * time.Second)
		b := n.sendText("And B")
		w.wantAnswer(a, answer.Completed, fox+"\n\n"+"Both done.")
		o, said := w.waitAnswer(b)
		if o.Status != answer.Superseded || !o.Withdrawn || said != "" || look.times() != 1 {
			w.Errorf("the run of the joined message ended as %+v with %q, after %d calls", o, said, look.times())
		}
		last := w.model.requests()[1].Messages
		if got := last[len(last)-1].Text; got != "And B" || len(w.model.requests()) != 2 {
			w.Errorf("the second of %d prompts ends with %q", len(w.model.requests()), got)
		}
		if shown := w.chat.visible()[0]; !strings.Contains(shown, included) {
			w.Errorf("users have read %q without a mark", shown)
		}
		w.chat.forgetSeen() // the mark is not stored
		if got := w.run(a).Inputs; !slices.Equal(got, w.accepted) {
			w.Errorf("the run has the inputs %q", got)
		}
		w.wantAnswer(n.sendText("C"), answer.Completed, "You said: C")
		want := []string{"A", "And B", fox + "\n\nBoth done.", "C"}
		if diff := cmp.Diff(want, w.model.requests()[2].texts()); diff != "" {
			w.Errorf("the next prompt (-want +got):\n%s", diff)
		}
	})
}

// The receipt of an answer that a later message has joined shows both, to its author and to the owner.
func TestSteerInTheReceipt(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.steering()
		n := w.start()
		w.model.queue([]step{call(0, "c", "LOOK", "{}")}, []step{write("Both done.")})
		a := n.sendText("Question A")
		time.Sleep(10 * time.Second)
		n.sendText("And B")
		w.wantAnswer(a, answer.Completed, "Both done.")
		w.chat.forgetSeen() // the mark is not stored
		if _, said := w.waitAnswer(n.sendText("/why")); !strings.Contains(said, "`; messages: 2\n") {
			w.Errorf("/why shows %s", said)
		}
		r := require.Value(turn.ReceiptOf(w.Context(), w.Store, a.Run))(w)
		for _, text := range []string{"- Conversation, ada, ", ": Question A\n", ": And B"} {
			if !strings.Contains(r.Whole(), text) {
				w.Errorf("the receipt lacks %q:\n%s", text, r.Whole())
			}
		}
	})
}

// A message that finds no boundary is the next turn; so are those of other users, and voice messages without a transcriber.
func TestSteerLeavesMessages(t *testing.T) {
	for name, late := range map[string]func(w *harness, m *chat.Message){
		"of another user": func(_ *harness, m *chat.Message) { m.Author, m.Name = "bob", "bob" },
		"a voice message": func(_ *harness, m *chat.Message) { m.Text, m.Files = "", []chat.Attachment{voice} },
		"after the calls": func(*harness, *chat.Message) { time.Sleep(70 * time.Second) },
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.steering()
			w.cfg.Access.Allowed = access.Members{Accounts: map[chat.EntityID]bool{"ada": true, "bob": true}}
			n := w.start()
			w.model.queue([]step{call(0, "c", "LOOK", "{}")}, []step{write(fox), pause(time.Minute)})
			a := n.sendText("A")
			time.Sleep(10 * time.Second)
			m := w.message(room, "ada", "B")
			late(w, &m)
			b := n.send(m)
			w.wantAnswer(a, answer.Completed, fox)
			if o, said := w.waitAnswer(b); o.Status != answer.Completed || said == "" {
				w.Errorf("the later message was answered with %q and %+v", said, o)
			}
		}))
	}
}

// The files of a message that joins reach the model as those of a question do: read once, or shown; also after a crash.
func TestSteerWithFiles(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		file   chat.Attachment
		vision bool
		want   string // the text of the last message
		shown  string
		read   string
	}{
		"a picture, described": {"And this", pic("b"), false, "And this\n[File: b, image/png]\n  seen b", "", "a b"},
		"a picture, shown":     {"And this", pic("b"), true, "And this\n[File: b, image/png]", "b", ""},
		"a voice message":      {"", voiceMessage("v"), false, "heard v", "", "a v"},
	} {
		t.Run(name, subtest.Of(withReader, func(w *harness, r *fakeReader) {
			w.steering()
			w.cfg.Models.LargeVision = c.vision
			f := &gatewaytest.Faults{}
			n := w.startFaulty(f)
			w.model.queue([]step{call(0, "c", "LOOK", "{}")}, []step{pause(time.Hour)}, []step{write("Both.")})
			a := n.send(with(w.message(room, "ada", "A"), pic("a")))
			time.Sleep(10 * time.Second)
			b := n.send(with(w.message(room, "ada", c.text), c.file))
			time.Sleep(70 * time.Second)
			last := w.model.requests()[1].Messages
			shown := ""
			for _, f := range last[len(last)-1].Images {
				shown += f.Name
			}
			if got := last[len(last)-1].Text; got != c.want || shown != c.shown || r.was() != c.read {
				w.Errorf("the second prompt ends with %q, and shows %q", got, shown)
			}
			f.Kill()
			n.Interrupt()
			w.start()
			w.wantAnswer(a, answer.Completed, "Both.")
			if o, _ := w.waitAnswer(b); o.Status != answer.Superseded {
				w.Errorf("the joined run ended as %+v", o)
			}
			last, shown = w.model.requests()[2].Messages, ""
			for _, f := range last[len(last)-1].Images {
				shown += f.Name
			}
			if got := last[len(last)-1].Text; !strings.Contains(got, c.want) || c.vision != (shown == "ba") || r.was() != "" {
				w.Errorf("after a crash the prompt ends with %q, and shows %q", got, shown)
			}
		}))
	}
}

// In the form, a message joins between the steps.
func TestSteerInSteps(t *testing.T) {
	withHarness(t, func(w *harness) {
		look := w.steering()
		w.cfg.Generation.Mode, w.cfg.Generation.MultiStep = generate.XML, true
		w.cfg.Plugins = append(w.cfg.Plugins, essentials.New(essentials.Deps{Store: w.Store}))
		n := w.start()
		w.model.queue(
			[]step{write("<response><thought>t</thought><action>LOOK</action><params>{}</params></response>")},
			[]step{write("<response><thought>t</thought><isFinish>true</isFinish></response>")},
			[]step{write("<response><text>Both.</text></response>")})
		a := n.sendText("A")
		time.Sleep(10 * time.Second)
		n.sendText("And B")
		w.wantAnswer(a, answer.Completed, "Both.")
		if asked := w.model.requests()[1].texts(); !strings.Contains(asked[len(asked)-1], "And B") || look.times() != 1 {
			w.Errorf("the second step read %q after %d calls", asked, look.times())
		}
		w.chat.forgetSeen() // the mark is not stored
	})
}

// The process dies after a message has joined: the next one answers both, and no message is lost.
func TestSteerOverACrash(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.steering()
		f := &gatewaytest.Faults{}
		n := w.startFaulty(f)
		w.model.queue([]step{call(0, "c", "LOOK", "{}")}, []step{pause(time.Hour)})
		a := n.sendText("A")
		time.Sleep(10 * time.Second)
		b := n.sendText("And B")
		time.Sleep(70 * time.Second) // it has joined
		if got := w.run(a).Inputs; len(got) != 2 {
			w.Fatalf("the run has the inputs %q before the crash", got)
		}
		f.Kill()
		n.Interrupt()
		w.start()
		if o, said := w.waitAnswer(a); o.Status != answer.Completed || said == "" {
			w.Errorf("the answer is %q: %+v", said, o)
		}
		last := w.model.requests()
		if got := last[len(last)-1].texts(); !slices.Equal(got, []string{"A", "And B"}) {
			w.Errorf("the next process asked %q", got)
		}
		if o, _ := w.waitAnswer(b); o.Status != answer.Superseded {
			w.Errorf("the joined run ended as %+v", o)
		}
	})
}

// A message that joins is charged. Over the limit it stays a turn of its own, which tells its author.
func TestSteerIsCharged(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.steering()
		w.setLimits(quota.Limits{Person: quota.Cost{Messages: 2}}, w.Store)
		n := w.start()
		look := []step{call(0, "c", "LOOK", "{}")}
		w.model.queue(look, look, []step{write("Two.")})
		a := n.sendText("A")
		time.Sleep(10 * time.Second)
		n.sendText("And B")
		time.Sleep(time.Minute)
		c := n.sendText("And C")
		w.wantAnswer(a, answer.Completed, "Two.")
		if _, said := w.waitAnswer(c); !strings.HasPrefix(said, "You've reached your daily limit.") {
			w.Errorf("the third message was answered with %q", said)
		}
		if got := w.run(a).Inputs; len(got) != 2 || w.spent("person/ada").Messages != 2 {
			w.Errorf("the run has the inputs %q, and %d messages are charged", got, w.spent("person/ada").Messages)
		}
		w.chat.forgetSeen() // the mark is not stored
	})
}

// The table of docs/chatting.md: twenty dialogs in which one or two messages follow a question, one to 46 seconds after it. The model
// makes one call of twenty seconds for each message, and then answers.
func TestPoliciesCompared(t *testing.T) {
	page := require.Value(os.ReadFile("../docs/chatting.md"))(t)
	for _, policy := range []schedule.Policy{schedule.Supersede, schedule.Queue, schedule.Steer} {
		calls, lost, answers := 0, 0, 0
		var took time.Duration
		for dialog := range 20 {
			withHarness(t, func(w *harness) {
				look := &fakeAction{name: "LOOK", effect: action.Reads, do: takes(20 * time.Second)}
				w.addActions(look)
				w.cfg.Turns.Direct, w.model.respond = policy, looksForEach
				n := w.start()
				asked := []chat.Accepted{n.sendText("M0")}
				for i := range 1 + dialog/10 {
					time.Sleep(time.Second + 5*time.Second*time.Duration(dialog%10+i))
					asked = append(asked, n.sendText(fmt.Sprint("M", i+1)))
				}
				sent := time.Now()
				w.WaitIdle()
				texts := ""
				for _, acc := range asked {
					if o, said := w.waitAnswer(acc); o.Status == answer.Completed {
						answers++
						texts += said
					}
				}
				for i := range asked {
					if !strings.Contains(texts, fmt.Sprint("M", i)) {
						lost++
					}
				}
				last := w.model.requests()
				took += last[len(last)-1].To.Sub(sent)
				calls += look.times()
				w.chat.forgetSeen() // the mark is not stored
			})
		}
		if row := fmt.Sprintf("| `%s` | %d | %d | %.0f s | %d |", policy, calls, answers, took.Seconds()/20, lost); !strings.Contains(string(page), row) {
			t.Errorf("docs/chatting.md has no row %s", row)
		}
	}
}

// looksForEach calls LOOK once for each message since the last answer, and then names them all.
func looksForEach(req llm.Request) []step {
	var open []string
	looked := 0
	for _, m := range req.Messages {
		switch {
		case m.Role == llm.RoleUser:
			open = append(open, m.Text)
		case m.Role == llm.RoleTool:
			looked++
		case m.Role == llm.RoleAssistant && len(m.Calls) == 0 && !strings.Contains(m.Text, "Interrupted"):
			open, looked = nil, 0
		}
	}
	if looked < len(open) {
		return []step{pause(3 * time.Second), call(0, fmt.Sprint("c", looked), "LOOK", "{}")}
	}
	return []step{pause(3 * time.Second), write("About " + strings.Join(open, ", ") + ": " + fox)}
}

// forgetful is a store whose first answer about a joined message is lost, after it has moved the message.
type forgetful struct {
	storage.Store
	lost atomic.Bool
}

func (s *forgetful) Join(ctx context.Context, id chat.RunID, epoch chat.Epoch, from chat.RunID, day string, message ...quota.Charge) ([]chat.MemoryID, string, error) {
	joined, over, err := s.Store.Join(ctx, id, epoch, from, day, message...)
	if err == nil && !s.lost.Swap(true) {
		return nil, "", errors.New("the connection was lost")
	}
	return joined, over, err
}

// A message that the store has moved to the run in progress is answered there, although the store's answer was lost.
func TestSteerWithoutAnswerOfTheStore(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.steering()
		w.cfg.Store = &forgetful{Store: w.Store}
		n := w.start()
		w.model.queue([]step{call(0, "c", "LOOK", "{}")}, []step{write("Both done.")})
		a := n.sendText("A")
		time.Sleep(10 * time.Second)
		n.sendText("And B")
		w.wantAnswer(a, answer.Completed, "Both done.")
		last := w.model.requests()[1].Messages
		if got := last[len(last)-1].Text; got != "And B" {
			w.Errorf("the second prompt ends with %q; want the message that has joined", got)
		}
		w.chat.forgetSeen() // the mark is not stored
	})
}
