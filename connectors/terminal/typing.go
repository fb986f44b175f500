package terminal

import (
	"context"
	"errors"
	"iter"
	"strings"

	"golang.org/x/term"
)

// typed is a line that somebody has entered, or why none will come any more.
type typed struct {
	text string
	err  error
}

// typedAnswer is one that comes: its frames are there for whoever asks for them.
type typedAnswer struct {
	said string // what it answers, if that was typed while another went on
	next func() (Frame, error, bool)
	stop func()
}

// begin has frames come for what was typed: said is empty if it was typed at the prompt of a message.
func begin(said string, frames iter.Seq2[Frame, error]) *typedAnswer {
	next, stop := iter.Pull2(frames)
	return &typedAnswer{said, next, stop}
}

// next waits for the next message.
func (c *Chat) next() (string, error) {
	if c.over != nil {
		return "", c.over
	}
	c.listen()
	c.keys.bringBack()
	t := <-c.typed
	c.reading = false
	return strings.TrimSpace(t.text), t.err
}

// listen shows a prompt, if there is none, and has a line read. What was typed before is kept for the next message.
func (c *Chat) listen() {
	if c.reading || c.over != nil {
		return
	}
	c.reading = true
	c.keys.setAside()
	go func() {
		text, err := c.read()
		c.typed <- typed{text, err}
	}()
}

// hangUp ends a read under way.
func (c *Chat) hangUp() {
	c.keys.hangUp()
	if c.reading {
		<-c.typed
	}
}

// read is one message: a line, or what was pasted up to the end of its last one.
func (c *Chat) read() (string, error) {
	var pasted []string
	for {
		if width, height, err := term.GetSize(int(c.Out.Fd())); err == nil {
			_ = c.lines.SetSize(width, height)
		}
		line, err := c.lines.ReadLine()
		pasted = append(pasted, line)
		if !errors.Is(err, term.ErrPasteIndicator) {
			return strings.Join(pasted, "\n"), err
		}
	}
}

// hear takes what was typed while r goes on: it chooses from what r offers, or it is the next message, and the gateway knows
// what that does to r. What comes of it is shown when r has ended.
func (c *Chat) hear(ctx context.Context, r *reply, t typed) {
	c.reading = false
	if t.err != nil { // the person leaves, and waits for nothing
		c.over = t.err
		c.keys.press()
		return
	}
	c.shown.typed(rowsOf(t.text, c.look().width))
	text := strings.TrimSpace(t.text)
	if text == "" {
		c.listen()
		return
	}
	frames := c.Client.Send(ctx, text)
	if r.asks != nil {
		if option, ok := r.asks.Named(text); ok {
			frames = c.Client.Choose(ctx, r.asks.ID, option)
		}
	}
	a := begin(text, frames)
	// The first frame says that it is accepted, and nothing more.
	if _, err, _ := a.next(); err != nil {
		a.stop()
		r.note = whyNot(err)
		c.listen()
		return
	}
	r.asks, r.note = nil, ""
	c.waiting = append(c.waiting, a)
}

// rowsOf is how many rows the lines of what was typed take, each behind a prompt.
func rowsOf(text string, width int) (rows int) {
	for line := range strings.SplitSeq(text, "\n") {
		rows += 1 + len([]rune(prompt+line))/width
	}
	return rows
}

// whyNot is what people read of a request that failed: the gateway's own words if it has some.
func whyNot(err error) string {
	var r refusal
	if errors.As(err, &r) {
		return r.sentence
	}
	return "Can't reach the gateway."
}
