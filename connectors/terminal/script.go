package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Script asks without a terminal: what it writes holds no control sequences.
type Script struct {
	Client *Client
	Out    io.Writer
	Notes  io.Writer // gets what actions take for important and what they ask, at once; nil is nobody
	JSON   bool      // every frame of the answer, one in a line; else its text, once it is whole
	Prompt string    // stands before each message that is read, for people at a terminal that can't show more

	Choosing string // says how to choose from what an answer asks before it goes on
}

// ErrNoAnswer is what an answer is that failed or never came; the rest of the error says why, for people.
var ErrNoAnswer = errors.New("no answer")

// Ask sends one message and writes the answer. An answer that nobody reads any more is stopped.
func (s Script) Ask(ctx context.Context, text string) error {
	var r reply
	err := s.read(ctx, text, &r)
	if err != nil && r.end == nil && !refused(err) {
		_ = s.Client.Stop(context.WithoutCancel(ctx)) // a gateway that can't be reached has nobody to stop for
	}
	if err != nil {
		return err
	}
	return s.write(ctx, &r)
}

// read follows the answer to its end.
func (s Script) read(ctx context.Context, text string, r *reply) error {
	for f, err := range s.Client.Send(ctx, text) {
		if err != nil {
			return err
		}
		r.take(f)
		if note := s.note(f, r); s.Notes != nil && note != "" {
			_, _ = fmt.Fprintln(s.Notes, harmless(note)) // nobody reads it: the answer is worth more
		}
		if s.JSON && f.raw != nil {
			if _, err := fmt.Fprintf(s.Out, "%s\n", f.raw); err != nil {
				return fmt.Errorf("write the answer: %w", err)
			}
		}
	}
	return nil
}

// note is what f tells that can't wait for the end of the answer.
func (s Script) note(f Frame, r *reply) string {
	switch {
	case f.Type != "status":
	case f.Kind == "update" && f.Text != nil:
		return *f.Text
	case f.Kind == "choices" && f.Choices != nil:
		asked := r.text[strings.LastIndex(r.text, "\n\n")+1:] // its last paragraph
		return strings.TrimSpace(strings.TrimSpace(asked) + "\n\n" + f.Choices.Numbered() + "\n\n" + s.Choosing)
	}
	return ""
}

// write is what is left to write of an answer that has ended.
func (s Script) write(ctx context.Context, r *reply) error {
	switch why := r.end.NoResponse; {
	case r.end.FailureKind != "" && !s.JSON:
		return fmt.Errorf("%w: %s", ErrNoAnswer, r.text)
	case r.end.FailureKind != "":
		return fmt.Errorf("%w: %s", ErrNoAnswer, r.end.FailureKind)
	case r.end.Kind == chosen: // the answer goes on where it was asked
		return nil
	case why != "":
		return fmt.Errorf("%w: %s", ErrNoAnswer, why)
	case s.JSON:
		return nil
	}
	said := []string{r.text}
	for n, f := range s.Client.files(ctx, r.end) {
		said = append(said, f.label(n)+": "+f.URL)
	}
	if offer := r.offer(); offer != nil {
		said = append(said, offer.Numbered())
	}
	said = slices.DeleteFunc(said, func(s string) bool { return s == "" })
	if _, err := fmt.Fprintln(s.Out, harmless(strings.Join(said, "\n\n"))); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// Each asks one message for each line of in.
func (s Script) Each(ctx context.Context, in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, mostFrame)
	for s.prompt(); lines.Scan() && ctx.Err() == nil; s.prompt() {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		if err := s.Ask(ctx, lines.Text()); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the messages: %w", err)
	}
	return context.Cause(ctx)
}

func (s Script) prompt() {
	if s.Prompt != "" {
		_, _ = fmt.Fprint(s.Out, s.Prompt)
	}
}
