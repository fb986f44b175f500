package core_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/generate"
	"parley/core/llm"
	"parley/core/quota"
	"parley/internal/subtest"
)

// twoCents is a soft limit that the first call of an answer stays below; spends(2) then uses it up.
const twoCents quota.USD = 20_000_000

// spends is the usage of a call of the dear model that costs so many cents.
func spends(cents int) step { return reported(llm.Usage{Prompt: 5000 * cents}) }

// lookForms are the ways in which a model looks something up, after some text where people see it, and then tells the result.
var lookForms = map[string]struct {
	how   generate.Config
	looks []step
	said  string // before it looks
	says  func(string) step
}{
	"natively": {generate.Config{}, []step{write("Let me see."), call(0, "l", "LOOK", "{}"), spends(2)}, "Let me see.", write},
	"as a form": {generate.Config{Mode: generate.XML}, []step{
		write("<response><thought>t</thought><text>Let me see.</text><actions><action><name>LOOK</name></action></actions></response>"), spends(2),
	}, "Let me see.", written},
	"with a later reply": {generate.Config{Mode: generate.XML}, []step{
		write("<response><thought>t</thought><actions><action><name>LOOK</name></action><action><name>REPLY</name></action></actions><text>Not yet.</text></response>"), spends(2),
	}, "", written},
	"in steps": {generate.Config{Mode: generate.XML, MultiStep: true}, []step{
		write("<response><thought>t</thought><actions><action><name>LOOK</name></action></actions><isFinish>true</isFinish></response>"), spends(2),
	}, "", written},
}

func written(text string) step { return write("<response><text>" + text + "</text></response>") }

// In the middle of an answer, once what it has used and its next call would exceed a soft limit, it waits as before its first call. The
// call of a tool that was made stays, and is not made again: not after a restart, and with whatever is chosen.
func TestSoftLimitWithinAnAnswer(t *testing.T) {
	for form, f := range lookForms {
		for name, c := range map[string]struct {
			asker   chat.EntityID
			options []string
			press   int
			restart bool
			says    string
		}{
			"an approver goes on":      {"ada", []string{"Go on", "Use the cheaper model", "Stop"}, 0, false, "Dear."},
			"the owner, restarted":     {"olga", []string{"Go on", "Use the cheaper model", "Stop"}, 0, true, "Dear."},
			"the cheaper model":        {"bob", []string{"Use the cheaper model", "Stop"}, 0, false, "Cheap."},
			"the cheaper, restarted":   {"bob", []string{"Use the cheaper model", "Stop"}, 0, true, "Cheap."},
			"another one stops":        {"bob", []string{"Use the cheaper model", "Stop"}, 1, false, "Okay, I stopped here."},
			"an approver stops, later": {"ada", []string{"Go on", "Use the cheaper model", "Stop"}, 2, true, "Okay, I stopped here."},
		} {
			if form != "natively" && !c.restart { // the form makes a difference for what is stored
				continue
			}
			t.Run(form+", "+name, subtest.Of(withHarness, func(w *harness) {
				dear, cheap := w.withSoftLimits(quota.Limits{Soft: quota.Soft{Total: twoCents}}, true)
				look := &fakeAction{name: "LOOK", effect: action.Writes}
				w.addActions(look)
				w.cfg.Generation = f.how
				dear.queue(f.looks, []step{f.says("Dear.")})
				cheap.queue([]step{f.says("Cheap.")})
				n := w.start()
				acc := n.send(w.groupMention(c.asker, "What is there?"))
				q := w.waitParked(acc)
				if !slices.Equal(labels(q), c.options) || len(dear.requests()) != 1 || look.times() != 1 {
					w.Fatalf("it asks %+v after %d calls", q, len(dear.requests()))
				}
				if shown := w.chat.visible(); len(shown) != 1 || !strings.Contains(shown[0], f.said) || !strings.Contains(shown[0], "Going on costs about $0.") {
					w.Errorf("people see %q", shown)
				}
				if c.restart {
					n.shutdown()
					time.Sleep(20 * time.Minute) // longer than any turn
					n = w.start()
				}
				n.deliver(chat.Choice{Question: q.ID, Option: c.press, Room: q.Room, Author: c.asker, Name: string(c.asker)})
				o, said := w.waitAnswer(acc)
				if o.Status != answer.Completed || !strings.HasPrefix(said, f.said) || !strings.HasSuffix(said, c.says) || look.times() != 1 {
					w.Errorf("%+v %q, looked %d times", o, said, look.times())
				}
				if all := append(dear.requests(), cheap.requests()...); len(all) == 2 != (c.says != "Okay, I stopped here.") || len(all) == 2 && !wasTold(all[1].Request, "done {}") {
					w.Errorf("%d calls", len(all))
				}
			}))
		}
	}
}

// wasTold reports whether the model reads text in req.
func wasTold(req llm.Request, text string) bool {
	return strings.Contains(req.System, text) || slices.ContainsFunc(req.Messages, func(m llm.Message) bool { return strings.Contains(m.Text, text) })
}

// An answer is asked about once for each soft limit: not before each call, but again when it reaches another one. What was allowed
// survives a restart, and so does what the model was told.
func TestSoftLimitsAskOnceEach(t *testing.T) {
	withHarness(t, func(w *harness) {
		dear, _ := w.withSoftLimits(quota.Limits{Soft: quota.Soft{Room: twoCents, Total: 2 * twoCents}}, false)
		look := &fakeAction{name: "LOOK"}
		w.addActions(look)
		looks := func(id string, cents int) []step { return []step{call(0, id, "LOOK", "{}"), spends(cents)} }
		dear.queue(looks("1", 2), looks("2", 1), looks("3", 1), looks("4", 1), []step{write("Four times.")})
		n := w.start()
		acc := n.send(w.groupMention("ada", "Look four times"))
		for i, limit := range []string{"This chat would exceed the soft limit of $0.02", "I would exceed the soft limit of $0.04"} {
			q := w.waitParked(acc)
			if shown := w.chat.visible()[0]; !strings.Contains(shown, limit) || look.times() != 1+2*i {
				t.Errorf("after %d calls people see %q", look.times(), shown)
			}
			n.shutdown()
			n = w.start()
			n.deliver(chat.Choice{Question: q.ID, Option: 0, Room: q.Room, Author: "ada", Name: "Ada"})
		}
		if o, said := w.waitAnswer(acc); o.Status != answer.Completed || !strings.HasSuffix(said, "Four times.") || look.times() != 4 {
			t.Errorf("%+v %q, looked %d times", o, said, look.times())
		}
	})
}

// A fallback that costs more than the model that failed is asked about, too. What the failed one wrote is taken back by then.
func TestSoftLimitOfAFallback(t *testing.T) {
	withHarness(t, func(w *harness) {
		dear, other := w.withSoftLimits(quota.Limits{Soft: quota.Soft{Total: 8_000_000}}, false)
		broken := []step{write("Half"), fails(&llm.Failure{Kind: llm.ProviderIssue, Err: errors.New("cut")})}
		dear.queue(append([]step{spends(0)}, broken...), broken)
		other.queue([]step{write("Whole.")})
		n := w.start()
		acc := n.send(w.groupMention("ada", "A story"+strings.Repeat(" and on", 800)))
		q := w.waitParked(acc)
		if shown := w.chat.visible(); len(other.requests()) > 0 || strings.Contains(shown[0], "Half") {
			t.Errorf("people see %q", shown)
		}
		n.deliver(chat.Choice{Question: q.ID, Option: 0, Room: q.Room, Author: "ada", Name: "Ada"})
		if o, said := w.waitAnswer(acc); o.Status != answer.Completed || said != "Whole." || len(other.requests()) != 1 {
			t.Errorf("%+v %q", o, said)
		}
	})
}

// A hard limit ends the answer in its middle, whatever was chosen about a soft one.
func TestHardLimitWinsWithinAnAnswer(t *testing.T) {
	withHarness(t, func(w *harness) {
		dear, cheap := w.withSoftLimits(quota.Limits{Soft: quota.Soft{Total: twoCents}, Total: quota.Cost{USD: twoCents + 1}}, true)
		look := &fakeAction{name: "LOOK"}
		w.addActions(look)
		dear.queue(lookForms["natively"].looks)
		n := w.start()
		acc := n.send(w.groupMention("ada", "What is there?"))
		n.deliver(chat.Choice{Question: w.waitParked(acc).ID, Option: 0, Room: group, Author: "ada", Name: "Ada"})
		if o, said := w.waitAnswer(acc); !strings.Contains(said, "I've reached my daily limit") || len(dear.requests())+len(cheap.requests()) != 1 || look.times() != 1 {
			t.Errorf("%+v %q", o, said)
		}
	})
}
