// Package pdftext extracts the text of PDF documents. Because a small PDF file can require any amount of memory and
// time, it is read in a separate process with limits on both, without the environment.
package pdftext

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/ledongthuc/pdf"
)

const (
	maxDocument = 32 << 20 // bytes
	maxPages    = 200
	maxText     = 1 << 20   // bytes
	maxMemory   = 512 << 20 // bytes of memory for the process that reads
	maxTime     = 20 * time.Second
)

// Text extracts the text of a document. It should run in a separate process: see [Serve].
func Text(document []byte) (text string, err error) {
	defer func() {
		if p := recover(); p != nil { // the parser reports damage by a panic
			err = fmt.Errorf("read the PDF: %v", p)
		}
	}()
	r, err := pdf.NewReader(bytes.NewReader(document), int64(len(document)))
	if err != nil {
		return "", fmt.Errorf("read the PDF: %w", err)
	}
	var b bytes.Buffer
	for n := 1; n <= min(r.NumPage(), maxPages) && b.Len() < maxText; n++ {
		page, err := r.Page(n).GetPlainText(nil)
		if err != nil {
			return "", fmt.Errorf("read page %d of the PDF: %w", n, err)
		}
		b.WriteString(page + "\n")
	}
	return string(b.Bytes()[:min(b.Len(), maxText)]), nil
}

// Serve reads one document from in and writes its text to out, after limiting the resources of this process.
func Serve(in io.Reader, out io.Writer) error {
	if err := limit(); err != nil {
		return fmt.Errorf("limit this process: %w", err)
	}
	document, err := io.ReadAll(io.LimitReader(in, maxDocument))
	if err != nil {
		return fmt.Errorf("read the PDF: %w", err)
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
			return "", fmt.Errorf("the process that reads PDFs: %w", err)
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
