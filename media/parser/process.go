package parser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Limits of one process, and of all together.
const (
	maxMemory  = 512 << 20 // bytes
	maxTime    = 20 * time.Second
	maxWritten = 128 << 20 // bytes of a file that it writes
	together   = 2         // processes at a time
	maxInput   = 32 << 20  // bytes of a file
	maxOutput  = 2 << 20   // bytes of a result
)

// errTooSlow means that reading a file took longer than any harmless file takes.
var errTooSlow error = slow{} // never changed

// slow is recognized as a timeout by its method.
type slow struct{}

func (slow) Error() string { return "it took too long to read" }

// Timeout reports that it is one.
func (slow) Timeout() bool { return true }

// A Process reads untrusted files, each in a new process. At most two run at a time, so that they need at most 1 GB
// together; further calls wait. It is safe for concurrent use.
type Process struct {
	program string
	args    []string
	places  chan struct{} // one for each process that can run at a time
}

// Command returns a Process that runs a program that calls [Serve]. It first removes the files that readers of a killed
// gateway left in the temporary folder.
func Command(program string, args ...string) *Process {
	sweep()
	return &Process{program, args, make(chan struct{}, together)}
}

// Text extracts the text of a document, and fails as [parley/media/document.Text] does, or if the process fails.
func (p *Process) Text(ctx context.Context, document []byte) (string, error) {
	text, err := p.run(ctx, job{kind: textJob}, document)
	return string(text), err
}

// Page returns the title and the main text of an HTML page, see [parley/media/document.Readable]. The media type is the
// one that came with the page. It can name an encoding. It fails only if the process fails.
func (p *Process) Page(ctx context.Context, page []byte, mediaType string) (title, body string, err error) {
	text, err := p.run(ctx, job{pageJob, mediaType}, page)
	title, body, _ = strings.Cut(string(text), "\n")
	return title, body, err
}

// Thumbnail returns a small JPEG of an image, and fails as [parley/media/thumbnail.JPEG] does, or if the process fails.
func (p *Process) Thumbnail(ctx context.Context, picture []byte) ([]byte, error) {
	return p.run(ctx, job{kind: thumbnailJob}, picture)
}

// run has one file read. The process is killed when ctx ends, or after maxTime. It has a folder of its own for
// temporary files, which is removed after it has ended.
func (p *Process) run(ctx context.Context, j job, data []byte) ([]byte, error) {
	select {
	case p.places <- struct{}{}:
		defer func() { <-p.places }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for other files to be read: %w", context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, errTooSlow)
	defer cancel()
	own, err := newFolder()
	if err != nil {
		return nil, fmt.Errorf("make a folder for temporary files: %w", err)
	}
	defer own.remove()
	cmd := exec.CommandContext(ctx, p.program, p.args...)
	cmd.Dir = own.path
	// The environment has credentials, which are not for a file that takes over the process.
	cmd.Env = []string{"TMPDIR=" + own.path, "TMP=" + own.path, "TEMP=" + own.path}
	cmd.WaitDelay = time.Second
	cmd.Stdin = bytes.NewReader(append(j.line(), data...))
	out := &bounded{}
	cmd.Stdout = out
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("the process that reads files: %w", err)
	}
	return out.Bytes(), nil
}

// bounded buffers the output of a process, which is not trusted either.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxOutput {
		return 0, errors.New("too much output")
	}
	return b.Buffer.Write(p)
}
