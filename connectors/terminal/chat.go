package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"
)

const (
	prompt   = "› "
	recalled = 10 // earlier messages that are shown
	idlest   = 20 // a redraw is followed by a pause of this many times its own duration, so that long answers cost little

	settled = 250 * time.Millisecond // a window width that is unchanged for this long is final
)

// Chat is a conversation in a terminal, which is both In and Out. Its methods and fields belong to the goroutine of
// Run, except where goroutines for reading lines, frames and keys pass something on through channels. At most one line
// is being read at a time.
type Chat struct {
	Client  *Client
	In, Out *os.File
	Color   bool   // use colors and styles
	Welcome string // the first line

	keys  *keyboard
	lines *term.Terminal
	shown screen

	typed   chan typed
	reading bool           // a prompt is shown, and a line will come from typed
	over    error          // why no more lines will come
	waiting []*typedAnswer // answers to lines typed during another answer
}

// Run converses until the user leaves or ctx is done. It returns an error if the conversation can't continue. The
// terminal is in raw mode meanwhile, and is restored in every case.
func (c *Chat) Run(ctx context.Context) error {
	// Read before the terminal is taken over, so that an error appears as in any other command.
	before, err := c.Client.History(ctx)
	if err != nil {
		return err
	}
	state, err := term.MakeRaw(int(c.In.Fd()))
	if err != nil {
		return fmt.Errorf("take over the terminal: %w", err)
	}
	defer func() { _ = term.Restore(int(c.In.Fd()), state) }()
	c.keys = newKeyboard(c.In)
	defer context.AfterFunc(ctx, c.keys.hangUp)()
	c.lines = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{c.keys, c.Out}, prompt)
	c.lines.SetBracketedPasteMode(true)
	defer c.lines.SetBracketedPasteMode(false)
	c.shown, c.typed = screen{out: c.lines, changed: c.Client.say("terminal.changed")}, make(chan typed)
	defer c.hangUp()
	c.atPrompt()

	c.print(c.Welcome, c.Client.say("terminal.keys"))
	c.recall(ctx, before[max(0, len(before)-recalled):])
	for {
		text, err := c.next()
		if errors.Is(err, io.EOF) {
			_, _ = io.WriteString(c.Out, "\r\n") // below the last prompt
			return nil
		} else if err != nil {
			return fmt.Errorf("read from the terminal: %w", err)
		}
		if text == "" {
			continue
		}
		if err := c.ask(ctx, text); err != nil {
			return err
		}
	}
}

// atPrompt makes Ctrl-C clear the line instead of leaving, because a user who tried to stop an answer may press it just
// after the answer's end.
func (c *Chat) atPrompt() {
	c.keys.onInterrupt(func() { _, _ = io.WriteString(c.lines, c.Client.say("terminal.exit")+"\n") }, clearLine)
}

// clearLine moves to the end of the line and deletes everything before the cursor.
const clearLine = "\x05\x15"

// recall shows earlier messages, in their original form.
func (c *Chat) recall(ctx context.Context, before []Message) {
	for i, m := range before {
		if m.ReplyTo != "" && slices.ContainsFunc(before[i:], func(later Message) bool { return later.ID == m.ReplyTo }) {
			continue // an option pressed during that answer is not shown
		}
		if m.Role == "user" {
			c.print("", prompt+harmless(m.Text), "")
			continue
		}
		c.leave(ctx, m.reply())
	}
	c.print("")
}

// ask sends a message and shows the answer as it grows. Ctrl-C stops the answer; a second Ctrl-C leaves it, in case the
// gateway does not react. An error ends the chat; a failed message alone does not.
func (c *Chat) ask(ctx context.Context, text string) error {
	ctx, quit := context.WithCancelCause(ctx)
	defer quit(nil)
	// The handler of Ctrl-C runs with the lock of the keyboard, so it must not block, and leaves the requests to
	// stopOn.
	stop := make(chan struct{}, 2)
	c.keys.onInterrupt(func() {
		select {
		case stop <- struct{}{}:
		default:
		}
	}, "")
	defer c.atPrompt()
	done := make(chan struct{})
	defer func() { <-done }()
	defer quit(nil)
	go func() {
		defer close(done)
		c.stopOn(ctx, stop, quit)
	}()

	c.print("")
	err := c.answers(ctx, begin("", c.Client.Send(ctx, text)))
	if cause := context.Cause(ctx); errors.Is(cause, errLeft) {
		c.print(c.Client.say("terminal.left"), "")
		return nil
	}
	switch {
	case err == nil:
	case ctx.Err() != nil: // the user has left
		// The user has closed the terminal, so the answer is not worth its cost. ctx is done.
		_ = c.Client.Stop(context.WithoutCancel(ctx))
		return err
	case refused(err): // an error reply of the gateway; the next message can succeed
		c.print(err.Error(), "")
	default:
		c.print(c.Client.say("terminal.unreachable"), "")
	}
	return nil
}

var errLeft = errors.New("the reader has left")

// stopOn stops the answer at the first Ctrl-C and leaves at the second.
func (c *Chat) stopOn(ctx context.Context, stop <-chan struct{}, quit context.CancelCauseFunc) {
	for pressed := 0; ; pressed++ {
		select {
		case <-ctx.Done():
			return
		case <-stop:
		}
		if pressed > 0 || c.Client.Stop(ctx) != nil {
			quit(errLeft)
		}
	}
}

// answers shows the answer to a message, and then the answers to lines typed meanwhile, in their order. After an error
// the remaining ones are only ended.
func (c *Chat) answers(ctx context.Context, first *typedAnswer) (err error) {
	c.waiting = []*typedAnswer{first}
	for len(c.waiting) > 0 {
		a := c.waiting[0]
		c.waiting = c.waiting[1:]
		if err == nil {
			var r *reply
			r, err = c.follow(ctx, a)
			if c.leave(ctx, r); !r.silent() {
				c.print("")
			}
		}
		a.stop()
	}
	return err
}

// follow shows the answer until its end. Frames that arrive between redraws are shown by the next redraw, and a redraw
// waits in proportion to its own cost: rendering Markdown takes longer as the answer grows. It returns the arrived part
// also with an error.
func (c *Chat) follow(ctx context.Context, a *typedAnswer) (*reply, error) {
	frames := make(chan Frame)
	var failed error // set before frames is closed
	go func() {
		defer close(frames)
		for f, err, ok := a.next(); ok; f, err, ok = a.next() {
			if failed = err; err != nil {
				return
			}
			frames <- f
		}
	}()
	r, l := &reply{said: a.said}, c.look()
	var due <-chan time.Time
	var next time.Time // earliest time of the next redraw
	width := l.width
	for {
		select {
		case f, ok := <-frames:
			if !ok {
				c.fit(l)
				return r, failed
			}
			if r.take(f); r.asks != nil && r.end == nil {
				c.listen()
			}
		case t := <-c.typed:
			c.hear(ctx, r, t)
		case <-due:
			due = nil
			if now := c.look().width; now != width { // redrawing at each width while resizing would leave a copy of the answer each time
				width, due = now, time.After(settled)
				continue
			}
			begun := time.Now()
			l = c.fit(l)
			c.draw(l.lines(r))
			next = time.Now().Add(idlest * time.Since(begun))
			continue
		}
		if due == nil {
			due = time.After(time.Until(next))
		}
	}
}

// draw shows lines, with the prompt below if there is one.
func (c *Chat) draw(lines []string) {
	if c.reading {
		lines = append(lines, "")
	}
	c.shown.show(lines)
}

// fit returns l, or a look for the terminal's current width: the next draw replaces the visible lines. A new look has
// new renderers, because the old ones cache rows of another width.
func (c *Chat) fit(l *look) *look {
	now := c.look()
	if now.width == l.width {
		return l
	}
	if c.reading {
		_ = c.lines.SetSize(now.width, c.shown.height)
	}
	c.shown.resize(now.width)
	return now
}

// leave shows the final state of r. The descriptions of images are looked up only here.
func (c *Chat) leave(ctx context.Context, r *reply) {
	if r.end == nil {
		r.end = &Frame{}
	}
	r.files = c.Client.files(ctx, r.end)
	c.shown.finish(c.look().lines(r))
	if why := cmp.Or(r.end.Kind, r.end.Reason, c.Client.ending(r.end.NoResponse)); why != "" && r.text == "" && !r.silent() {
		c.print("(" + why + ")")
	}
}

// look returns a look for the terminal's current size, or for the usual one if it is unknown.
func (c *Chat) look() *look {
	width, height, err := term.GetSize(int(c.Out.Fd()))
	if err != nil || width < 2 || height < 2 {
		width, height = 80, 24
	}
	c.shown.height = height
	return &look{width: width, color: c.Color, noFiles: c.Client.say("terminal.no_files")}
}

// print writes lines that never change, above the prompt if there is one.
func (c *Chat) print(lines ...string) {
	_, _ = io.WriteString(c.lines, strings.Join(lines, "\n")+"\n")
}
