package terminal

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Script sends messages without a terminal: its output has no control sequences, and is written when an answer is
// complete.
type Script struct {
	Client *Client
	Out    io.Writer
	Notes  io.Writer // receives important notices and questions at once; nil discards them
	JSON   bool      // write every frame as a line of JSON instead of the complete text
	Prompt string    // written before each message is read, for terminals without control sequences

	Choosing string // explains how to answer a question that an answer waits for
}

// ErrNoAnswer means that an answer failed or never came; the wrapping error contains the reason.
var ErrNoAnswer = errors.New("no answer")

// Ask sends one message and writes the answer. It stops the answer if the output fails or ctx ends, because no one will
// read it. It fails with [ErrNoAnswer] if the gateway reports a failure or a reason for silence; a command whose output
// is used by another one needs an exit code.
func (s Script) Ask(ctx context.Context, text string) error {
	var r reply
	err := s.read(ctx, text, &r)
	if err != nil && r.end == nil && !refused(err) {
		_ = s.Client.Stop(context.WithoutCancel(ctx)) // if the gateway is unreachable, there is nothing to stop
	}
	if err != nil {
		return err
	}
	return s.write(ctx, &r)
}

// read receives the answer to its end.
func (s Script) read(ctx context.Context, text string, r *reply) error {
	told := "" // the question that was shown: a stream that is joined again repeats its options, without the text above
	for f, err := range s.Client.Send(ctx, text) {
		if err != nil {
			return err
		}
		r.take(f)
		repeated := f.Choices != nil && f.Choices.ID == told
		if f.Type == "status" && f.Choices != nil {
			told = f.Choices.ID
		}
		if note := s.note(f, r); s.Notes != nil && note != "" && !repeated {
			_, _ = fmt.Fprintln(s.Notes, harmless(note)) // keep receiving the answer even if notices can't be written
		}
		if s.JSON && f.raw != nil {
			if _, err := fmt.Fprintf(s.Out, "%s\n", f.raw); err != nil {
				return fmt.Errorf("write the answer: %w", err)
			}
		}
	}
	return nil
}

// note returns the part of f that can't wait for the end of the answer.
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

// write writes the rest of an answer that has ended.
func (s Script) write(ctx context.Context, r *reply) error {
	switch why := cmp.Or(r.end.Reason, r.end.NoResponse); {
	case r.end.FailureKind != "" && !s.JSON, r.end.Reason != "" && r.text != "" && !s.JSON: // the text says why
		return fmt.Errorf("%w: %s", ErrNoAnswer, r.text)
	case r.end.FailureKind != "":
		return fmt.Errorf("%w: %s", ErrNoAnswer, r.end.FailureKind)
	case r.end.Kind == chosen: // the answer continues in its own stream
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
	said = append(said, r.offered(s.Client.say("terminal.no_files")))
	said = slices.DeleteFunc(said, func(s string) bool { return s == "" })
	if _, err := fmt.Fprintln(s.Out, harmless(strings.Join(said, "\n\n"))); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// Each sends each line of in as a message, and waits for its answer before the next one. It ends at the first error.
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

// prompt writes Prompt.
func (s Script) prompt() {
	if s.Prompt != "" {
		_, _ = fmt.Fprint(s.Out, s.Prompt)
	}
}
