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

const (
	maxMemory = 512 << 20 // bytes of memory for the process that reads
	maxTime   = 20 * time.Second
)

// Serve reads one document from in and writes its text to out, after limiting the resources of this process.
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

// Command returns a function that extracts the text of documents with a program that calls [Serve].
func Command(program string, args ...string) func(ctx context.Context, document []byte) (string, error) {
	return func(ctx context.Context, document []byte) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, maxTime)
		defer cancel()
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Env = []string{} // no credentials for code that takes over the process
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

// bounded buffers the output of a process, up to a limit.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxText {
		return 0, errors.New("too much text")
	}
	return b.Buffer.Write(p)
}
