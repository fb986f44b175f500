package terminal

import (
	"context"
	"errors"
	"iter"
	"strings"

	"golang.org/x/term"
)

// typed is an entered line, or the reason why no more will come.
type typed struct {
	text string
	err  error
}

// typedAnswer is an answer in progress with its frames.
type typedAnswer struct {
	said string // the message, if it was typed during another answer
	next func() (Frame, error, bool)
	stop func()
}

// begin starts receiving the frames of an answer: said is empty if the message was typed at the prompt. stop must be
// called in every case, as it ends the goroutine of the sequence.
func begin(said string, frames iter.Seq2[Frame, error]) *typedAnswer {
	next, stop := iter.Pull2(frames)
	return &typedAnswer{said, next, stop}
}

// next waits for the next message, and shows a prompt for it. Input that was set aside for a question is used first.
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

// listen shows a prompt, unless one is shown, and starts reading a line. Input typed before is kept for the next
// message.
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

// hangUp ends a pending read, and waits for its goroutine.
func (c *Chat) hangUp() {
	c.keys.hangUp()
	if c.reading {
		<-c.typed
	}
}

// read returns one message: a line, or pasted text up to the end of its last line.
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

// hear handles a line typed during r: it selects one of r's options, or else it is the next message, whose effect on r
// the gateway decides. Its answer is shown when r has ended.
func (c *Chat) hear(ctx context.Context, r *reply, t typed) {
	c.reading = false
	if t.err != nil { // the user leaves without waiting
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
	frames, asks := c.Client.Send(ctx, text), r.asks
	if asks != nil {
		if option, ok := asks.Named(text); ok {
			frames, asks = c.Client.Choose(ctx, asks.ID, option), nil
		}
	}
	a := begin(text, frames)
	// The first frame only means that the message was accepted.
	if _, err, _ := a.next(); err != nil {
		a.stop()
		r.note = c.Client.whyNot(err)
		c.listen()
		return
	}
	r.asks, r.note = asks, "" // after another message the answer can still wait; if it does not, the gateway closes the options
	c.waiting = append(c.waiting, a)
	if asks != nil {
		c.listen()
	}
}

// rowsOf returns how many rows the typed lines take, each after a prompt.
func rowsOf(text string, width int) (rows int) {
	for line := range strings.SplitSeq(text, "\n") {
		rows += 1 + len([]rune(prompt+line))/width
	}
	return rows
}

// whyNot returns the text for a failed request, from the gateway if it sent one.
func (c *Client) whyNot(err error) string {
	var r refusal
	if errors.As(err, &r) {
		return r.sentence
	}
	return c.say("terminal.down")
}
