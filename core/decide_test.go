package core_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/access"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/event"
	"parley/core/schedule"
	"parley/internal/subtest"
)

// listenToGroup makes the group of the next processes one where the agent listens to all that is said.
func (w *harness) listenToGroup() {
	w.cfg.Access.Group = access.GroupAmbient
}

// sendAmbient is what Ada says in the group, addressed to no user.
func (n *process) sendAmbient(text string) chat.Accepted {
	n.h.Helper()
	return n.send(n.h.message(group, "ada", text))
}

func (n *process) sendMention(text string) chat.Accepted {
	n.h.Helper()
	m := n.h.message(group, "ada", text)
	m.Addressed = true
	return n.send(m)
}

// In an ambient room the model decides about what rules leave open; whatever it says that is no decision means no.
func TestModelDecides(t *testing.T) {
	for name, c := range map[string]struct {
		says []step
		want answer.Status
	}{
		"respond":      {[]step{write("RESP"), write("OND")}, answer.Completed},
		"ignore":       {[]step{write("IGNORE")}, answer.Ignored},
		"stop":         {[]step{write("STOP")}, answer.Ignored},
		"unreadable":   {[]step{write("What a nice day.")}, answer.Ignored},
		"nothing":      {nil, answer.Ignored},
		"an error":     {[]step{fails(errors.New("the model is away"))}, answer.Ignored},
		"a panic":      {[]step{panics()}, answer.Ignored},
		"forever":      {[]step{pause(time.Hour)}, answer.Ignored},
		"asks to act":  {[]step{call(0, "a", "WRITE", "{}")}, answer.Ignored},
		"late, but so": {[]step{pause(15 * time.Second), write("YES")}, answer.Completed},
	} {
		t.Run(name, subtest.Of(withHarness, func(w *harness) {
			w.listenToGroup()
			d := &eventLog{}
			w.cfg.Observers = []event.Observer{d}
			w.model.queue(c.says)
			n := w.start()
			begun := time.Now()
			acc := n.sendAmbient("Does it rain?")
			o, said := w.waitAnswer(acc)
			answered := c.want == answer.Completed
			if o.Status != c.want || (said == "You said: ada: Does it rain?") != answered || (len(w.chat.requests) > 0) != answered {
				w.Errorf("it is %+v, said %q and made %d requests", o, said, len(w.chat.requests))
			}
			if time.Since(begun) > time.Minute {
				w.Error("the decision took too long")
			}
			if got := d.of(acc.Run); !slices.Equal(got, []string{"started", string(c.want)}) {
				w.Errorf("events: %q", got)
			}
			if q := w.model.requests()[0]; len(q.Tools) > 0 || len(q.Messages) != 1 || !strings.Contains(q.Messages[0].Text, "\nada: Does it rain?\n</conversation>") {
				w.Errorf("the question is %+v", q.Request)
			}
		}))
	}
}

// Rules come first: what they decide costs no question.
func TestNoQuestionWhereRulesDecide(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.listenToGroup()
		w.cfg.Agent.Names = []string{"Polly"}
		n := w.start()
		w.wantAnswer(n.sendAmbient("polly, hello"), answer.Completed, "You said: ada: polly, hello")
		w.wantAnswer(n.sendMention("Hello"), answer.Completed, "You said: ada: Hello")
		for _, author := range []chat.EntityID{"eve"} {
			if acc := n.send(w.message(group, author, "Hello all")); acc.Run != "" {
				w.Error("a stranger's words are weighed at the owner's expense (SE-10)")
			}
		}
		bot := w.message(group, "ada", "Hello")
		bot.Bot = true
		if acc := n.send(bot); acc.Run != "" {
			w.Error("a bot's words are weighed (I13)")
		}
		w.wantModelCalls(2)
	})
}

// Who asks for quiet gets it, until the agent is addressed again. A muted room stays silent.
func TestAttention(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.listenToGroup()
		n := w.start()
		attention := func(want chat.Attention) {
			w.Helper()
			got, err := w.Store.Attention(w.Context(), group)
			if w.Must(err); got != want {
				w.Errorf("the attention is %q; want %q", got, want)
			}
		}
		w.model.queue([]step{write("STOP")})
		w.wantAnswer(n.sendAmbient("Could the robot be quiet?"), answer.Ignored, "")
		attention(chat.Quiet)
		if acc := n.sendAmbient("Ah, silence."); acc.Run != "" {
			w.Error("an ambient message started a run after the agent was told to be quiet; want none")
		}
		w.wantAnswer(n.sendMention("Are you there?"), answer.Completed, "You said: ada: Are you there?")
		attention(chat.Normal)
		w.model.queue([]step{write("RESPOND")})
		w.wantAnswer(n.sendAmbient("And now?"), answer.Completed, "You said: ada: And now?")
		w.Must(w.Store.SetAttention(w.Context(), group, chat.Muted))
		if acc := n.sendMention("Hello?"); acc.Run != "" {
			w.Error("a muted room is answered")
		}
		attention(chat.Muted)
	})
}

// A room can be ambient alone.
func TestAmbientRoom(t *testing.T) {
	withHarness(t, func(w *harness) {
		n := w.start()
		if acc := n.sendAmbient("Hello"); acc.Run != "" {
			w.Error("an ambient message started a run without the ambient mode; want none")
		}
		w.Must(w.Store.SetAttention(w.Context(), group, chat.Ambient))
		w.model.queue([]step{write("RESPOND")})
		w.wantAnswer(n.sendAmbient("Hello again"), answer.Completed, "You said: ada: Hello again")
	})
}

// What is undecided supersedes no user, neither when it comes nor before its question is answered with yes.
func TestUndecidedSupersedesNobody(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.listenToGroup()
		w.cfg.Turns.Group = schedule.Supersede
		n := w.start()
		w.model.queue([]step{write(fox), pause(10 * time.Second), write(" The end.")}, []step{write("IGNORE")})
		first := n.sendMention("Tell me")
		time.Sleep(time.Second)
		overheard := n.sendAmbient("It rains.")
		w.wantAnswer(first, answer.Completed, fox+" The end.")
		w.wantAnswer(overheard, answer.Ignored, "")
	})
}

// A question that a later turn makes idle is not asked, and a stop ends what waits for one.
func TestUndecidedGivesWay(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.listenToGroup()
		w.cfg.Turns.Group = schedule.Supersede
		n := w.start()
		w.model.queue([]step{pause(5 * time.Second), write("RESPOND")})
		asked, waits := n.sendAmbient("It rains."), n.sendAmbient("It pours.")
		time.Sleep(time.Second)
		last := n.sendMention("Hello")
		w.wantAnswer(last, answer.Completed, "You said: ada: Hello")
		w.wantAnswer(asked, answer.Superseded, "")
		w.wantAnswer(waits, answer.Superseded, "")
		w.wantModelCalls(2)

		w.model.queue([]step{pause(5 * time.Second), write("RESPOND")})
		asked = n.sendAmbient("It snows.")
		time.Sleep(time.Second)
		n.stopAnswer(group)
		w.wantAnswer(asked, answer.Stopped, "")
	})
}

// A shutdown leaves an undecided run to anyone who adopts it, who decides again.
func TestUndecidedIsAdopted(t *testing.T) {
	withHarness(t, func(w *harness) {
		w.listenToGroup()
		n := w.start()
		w.model.queue([]step{pause(10 * time.Second), write("RESPOND")}, []step{write("RESPOND")})
		acc := n.sendAmbient("Does it rain?")
		time.Sleep(time.Second)
		n.shutdown()
		if r := w.run(acc); r.Outcome.Done() {
			w.Fatalf("it ended with the process: %+v", r)
		}
		w.start()
		w.wantAnswer(acc, answer.Completed, "You said: ada: Does it rain?")
		synctest.Wait()
	})
}
