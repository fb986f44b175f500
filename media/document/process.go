package document

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// Limits of the process that reads a document.
const (
	maxMemory = 512 << 20 // bytes
	maxTime   = 20 * time.Second
)

// Serve reads one document from in and writes its text to out. It limits this process first, so it is for a process
// that does nothing else.
func Serve(in io.Reader, out io.Writer) error {
	if err := limit(); err != nil {
		return fmt.Errorf("limit this process: %w", err)
	}
	document, err := io.ReadAll(io.LimitReader(in, maxDocument))
	if err != nil {
		return fmt.Errorf("receive the document: %w", err)
	}
	text, err := Text(document)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, text)
	return err
}

// Command returns a function that extracts the text of a document by running a program that calls [Serve]. The program
// is killed after maxTime, or when ctx ends.
func Command(program string, args ...string) func(ctx context.Context, document []byte) (string, error) {
	return func(ctx context.Context, document []byte) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, maxTime)
		defer cancel()
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Env = []string{} // no credentials for a document that takes over the process
		cmd.WaitDelay = time.Second
		cmd.Stdin = bytes.NewReader(document)
		out := &bounded{}
		cmd.Stdout = out
		err := cmd.Run()
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if err != nil {
			return "", fmt.Errorf("the process that reads documents: %w", err)
		}
		return out.String(), nil
	}
}

// bounded buffers the output of a process, which is not trusted either.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxText {
		return 0, errors.New("too much text")
	}
	return b.Buffer.Write(p)
}
