package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxQuestion = 32_000          // characters of a message, see docs/web-api.md
	pipePause   = 3 * time.Second // the longest silence of a pipe on standard input; then it counts as empty
)

// question returns the text to ask: the argument of -p, followed by the piped input.
func question(ctx context.Context, prompt string, in *os.File, notes io.Writer) (string, error) {
	piped, err := readPiped(ctx, in, notes)
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(strings.TrimSpace(prompt) + "\n\n" + strings.Trim(piped, "\n"))
	switch {
	case text == "":
		return "", errors.New("-p is empty; give a question, or pipe one in")
	case utf8.RuneCountInString(text) > maxQuestion:
		return "", fmt.Errorf("the question and the piped input exceed the limit of %d characters; pipe in less", maxQuestion)
	}
	return text, nil
}

// readPiped returns the input that is piped or redirected into the program, or "". It reads slightly more than a
// message can hold, so the caller sees that there is too much. A pipe that stays silent counts as empty: programs that
// start others often leave one open.
func readPiped(ctx context.Context, in *os.File, notes io.Writer) (string, error) {
	info, err := in.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice != 0 {
		return "", nil // closed, a terminal, or /dev/null
	}
	begun, read := make(chan struct{}), make(chan error, 1)
	var text []byte
	// A read of standard input can't be interrupted: without input this goroutine lives as long as the process.
	go func() {
		first := make([]byte, 1)
		n, err := io.ReadFull(in, first)
		close(begun)
		if n == 1 {
			var rest []byte
			rest, err = io.ReadAll(io.LimitReader(in, maxQuestion*utf8.UTFMax))
			text = append(first, rest...)
		}
		read <- err
	}()
	select {
	case <-begun:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case <-time.After(pipePause):
		_, _ = fmt.Fprintf(notes, "No input on standard input within %v; asking without it. To avoid the wait, redirect it from /dev/null.\n", pipePause)
		return "", nil
	}
	select {
	case err = <-read:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return "", fmt.Errorf("read standard input: %w", err)
	case !utf8.Valid(text) && len(text) <= maxQuestion*utf8.UTFMax:
		return "", errors.New("standard input is not UTF-8 text; -p takes only text")
	}
	return string(text), nil
}
