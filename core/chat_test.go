package core_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/gatewaytest"
	"parley/internal/require"
	"parley/sim"
)

// fakeChat is a platform with nonces: a message that is created twice with one nonce is the first.
type fakeChat struct {
	slow     time.Duration // of each request
	noNonces bool          // each create makes a message

	mu       sync.Mutex
	posts    []*post
	requests []sim.Request
	seen     []sim.Sight
}

type post struct {
	id, nonce, text string
	run             chat.RunID
	gone            bool
}

func (c *fakeChat) create(run chat.RunID, nonce, text string) (id string) {
	from := c.wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.posts {
		if p.nonce == nonce && !c.noNonces {
			return p.id
		}
	}
	p := &post{id: fmt.Sprintf("m%d", len(c.posts)+1), nonce: nonce, text: text, run: run}
	c.posts = append(c.posts, p)
	c.requests = append(c.requests, sim.Request{From: from, To: time.Now(), Scope: "chat", Message: p.id, Create: true})
	c.record(p, false)
	return p.id
}

func (c *fakeChat) edit(id, text string) {
	from := c.wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.find(id)
	p.text = text
	c.requests = append(c.requests, sim.Request{From: from, To: time.Now(), Scope: "chat", Message: id})
	c.record(p, false)
}

func (c *fakeChat) remove(id string) {
	c.wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.find(id).gone = true
}

// markLast is the end of what a surface shows.
func (c *fakeChat) markLast(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.find(id); p != nil {
		c.record(p, true)
	}
}

func (c *fakeChat) wait() time.Time {
	from := time.Now()
	time.Sleep(c.slow)
	return from
}

// record keeps what is new to those who look.
func (c *fakeChat) record(p *post, last bool) {
	for _, s := range slices.Backward(c.seen) {
		if s.Run == p.run {
			if s.Text == p.text && s.Gone == p.gone && (s.Last || !last) {
				return
			}
			break
		}
	}
	c.seen = append(c.seen, sim.Sight{At: time.Now(), Reader: "chat", Run: p.run, Text: p.text, Last: last, Gone: p.gone})
}

func (c *fakeChat) find(id string) *post {
	for _, p := range c.posts {
		if p.id == id {
			return p
		}
	}
	return nil
}

// forgetSeen drops what was seen, for what the invariants do not allow an answer to do but a test does.
func (c *fakeChat) forgetSeen() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = nil
}

// visible are the texts that people see, oldest first.
func (c *fakeChat) visible() (texts []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.posts {
		if !p.gone {
			texts = append(texts, p.text)
		}
	}
	return texts
}

// poster is a surface of one message. What an earlier holder showed it changes for the last word only.
type poster struct {
	chat    *fakeChat
	run     chat.Run
	atFirst func()              // before the first note
	silent  bool                // shows nothing before the end
	hides   bool                // and says so
	faults  *gatewaytest.Faults // may be nil

	id   string
	text string
}

// Show implements [core.Surface].
func (p *poster) Show(ctx context.Context, a *answer.Answer, note func(chat.Shown) error) error {
	if len(p.run.Shown) > 0 {
		p.silent, p.hides, p.id = !p.run.Resumes(), !p.run.Resumes(), p.run.Shown[0].ID
	}
	if err := p.learn(note); err != nil {
		return err
	}
	var at answer.Cursor
	for {
		err := a.Wait(ctx, at)
		v := a.View()
		switch {
		case errors.Is(err, io.EOF):
			p.chat.markLast(p.id)
			return nil
		case err != nil:
			return err
		case v.Outcome.Done() && v.Outcome.Withdrawn:
			err = p.withdraw(note)
		case v.Text() != p.text && (!p.silent || v.Outcome.Done()):
			err = p.show(v.Text(), note)
		}
		if p.hides {
			a.Seen(^answer.Cursor(0))
		} else if !p.silent {
			a.Seen(v.At)
		}
		if err != nil {
			return err
		}
		at = v.At
	}
}

// learn finds out the id of a message that an earlier holder may have created.
func (p *poster) learn(note func(chat.Shown) error) error {
	if len(p.run.Shown) == 0 || p.id != "" {
		return nil
	}
	if err := p.create(p.run.Text); err != nil {
		return err
	}
	return note(chat.Shown{ID: p.id})
}

// create is given the id of an earlier message of the run, if there is one.
func (p *poster) create(text string) error {
	var id string
	err := p.faults.Do("create", func() error { id = p.chat.create(p.run.ID, string(p.run.ID), text); return nil })
	if err == nil {
		p.id = id
	}
	return err
}

func (p *poster) show(text string, note func(chat.Shown) error) error {
	if p.id != "" {
		if err := note(chat.Shown{ID: p.id}); err != nil {
			return err
		}
		p.text = text
		return p.faults.Do("edit", func() error { p.chat.edit(p.id, text); return nil })
	}
	if p.atFirst != nil {
		p.atFirst()
	}
	if err := note(chat.Shown{}); err != nil {
		return err
	}
	if p.text = text; p.create(text) != nil {
		return chat.ErrCrashed
	}
	return note(chat.Shown{ID: p.id})
}

func (p *poster) withdraw(note func(chat.Shown) error) error {
	if p.id == "" {
		return nil
	}
	if err := note(chat.Shown{ID: p.id}); err != nil {
		return err
	}
	if err := p.faults.Do("remove", func() error { p.chat.remove(p.id); return nil }); err != nil {
		return err
	}
	return note(chat.Shown{ID: p.id, Gone: true})
}

// SE-20: when /new forgets a room, a question that is still open loses its options and stays in the chat as it was, and is not
// remembered again; neither runs nor questions hold any text of it.
func TestNewLeavesNoText(t *testing.T) {
	withQuestion(t, func(w *harness, n *process, _ *chooser, q chat.Question) {
		asked := n.sendText("/new")
		w.waitAnswer(asked)
		forgotten := n.sendText("forget it")
		w.waitAnswer(forgotten)
		time.Sleep(time.Minute)
		w.accepted = nil
		const new = "Forget this conversation? Messages in the chat won't be deleted.\n\n→ **Forget it**\n\nDone. I've forgotten this conversation."
		w.wantVisible("You said: A", "Let Eve in?", new)
		for _, kind := range []chat.MemoryKind{chat.Said, chat.KindCommand, chat.Draft} {
			all := require.Value(w.Store.Recent(w.Context(), room, kind, 0, 10))(w)
			for _, m := range all {
				if m.Text != new {
					w.Errorf("remembered is %q; want %q", m.Text, new)
				}
			}
		}
		for i := chat.ResponseID(1); i < 8; i++ {
			r, err := w.Store.Run(w.Context(), chat.RunID(string(room)+"#"+string(rune('0'+i))))
			if err == nil && r.ID != forgotten.Run && (r.Text != "" || r.Verdict != nil || !r.Outcome.Done()) {
				w.Errorf("run %d holds %q, %+v, %+v", i, r.Text, r.Verdict, r.Outcome)
			}
		}
		for _, id := range []string{q.ID, w.questionID(asked)} {
			if _, err := w.Store.Question(w.Context(), id); id != "" && !errors.Is(err, chat.ErrNotFound) {
				w.Errorf("the question is kept: %v", err)
			}
		}
		w.wantAnswer(n.sendText("B"), answer.Completed, "You said: B")
	})
}

// questionID is the id of what a run asks, if anything.
func (w *harness) questionID(acc chat.Accepted) string {
	q, err := w.Store.QuestionOf(w.Context(), acc.Run)
	if errors.Is(err, chat.ErrNotFound) {
		return ""
	}
	w.Must(err)
	return q.ID
}
