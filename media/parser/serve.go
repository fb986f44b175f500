// Package parser reads untrusted files with parsers: documents, HTML pages, images.
//
// Such a file comes from strangers. A small one can require any amount of memory and time, or exploit a parser. So each
// is read in a process of its own, with limits on both and without the environment, which has credentials: a [Process]
// starts it, and it runs [Serve].
package parser

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"parley/media/document"
	"parley/media/thumbnail"
)

// The kinds of jobs.
const (
	textJob      = "text"
	pageJob      = "page"
	thumbnailJob = "thumbnail"
)

// job is the request that a process carries out on its file.
type job struct {
	kind      string
	mediaType string // of a page
}

const maxLine = 256 // bytes of a job's line

// line returns the job as the line that precedes the file.
func (j job) line() []byte {
	line := strings.Join(strings.Fields(j.kind+" "+j.mediaType), " ")
	return []byte(line[:min(len(line), maxLine)] + "\n")
}

// Serve reads a job with its file from in, and writes the result to out. It limits this process first, so it is for a
// process that does nothing else. The error is for the caller to print: then there is no result.
func Serve(in io.Reader, out io.Writer) error {
	defer endWithParent()()
	if err := limit(); err != nil {
		return fmt.Errorf("limit this process: %w", err)
	}
	all, err := io.ReadAll(bufio.NewReader(io.LimitReader(in, maxLine+maxInput)))
	if err != nil {
		return fmt.Errorf("receive the file: %w", err)
	}
	line, data, _ := bytes.Cut(all, []byte("\n"))
	kind, mediaType, _ := strings.Cut(string(line), " ")
	result, err := job{kind, mediaType}.do(data)
	if err != nil {
		return err
	}
	_, err = out.Write(result)
	return err
}

// do reads the file.
func (j job) do(data []byte) ([]byte, error) {
	switch j.kind {
	case textJob:
		text, err := document.Text(data)
		return []byte(text), err
	case pageJob:
		title, body := document.Readable(data, j.mediaType)
		return []byte(title + "\n" + body), nil
	case thumbnailJob:
		return thumbnail.JPEG(data)
	}
	return nil, fmt.Errorf("there is no job %q", j.kind)
}

// lookAfter is how often a process looks whether its parent is alive.
const lookAfter = 500 * time.Millisecond

// endWithParent ends this process, and removes its folder, when its parent has died. It returns a function that stops
// looking.
func endWithParent() (stop func()) {
	parent, stopped := os.Getppid(), make(chan struct{})
	go func() {
		look := time.NewTicker(lookAfter)
		defer look.Stop()
		for {
			select {
			case <-stopped:
				return
			case <-look.C:
			}
			if os.Getppid() == parent {
				continue
			}
			if own, err := os.Getwd(); err == nil && isFolder(own) {
				_ = os.RemoveAll(own) // the next start of the gateway removes the rest
			}
			os.Exit(1)
		}
	}()
	return func() { close(stopped) }
}
