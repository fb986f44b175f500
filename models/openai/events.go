package openai

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	eventBuffer = 2 << 10  // bytes read at once, of what the transport has buffered
	maxEvent    = 32 << 20 // bytes of one event
)

var errEventSize = errors.New("an event of the stream is too long")

// eventReader reads server-sent events.
type eventReader struct {
	in   *bufio.Reader
	kind string
	data []byte // overwritten by the next event
	line []byte // the part of a line that was read before
	err  error  // why there are no more, except for the end
}

func newEventReader(in io.Reader) *eventReader {
	return &eventReader{in: bufio.NewReaderSize(in, eventBuffer)}
}

// next reads an event with data. What is not followed by an empty line is no event.
func (e *eventReader) next() bool {
	e.kind, e.data = "", e.data[:0]
	for {
		line, ok := e.readLine()
		switch {
		case !ok:
			return false
		case len(line) == 0 && len(e.data) > 0:
			return true
		case len(line) == 0:
			e.kind = ""
		default:
			e.field(line)
		}
	}
}

// field reads a line of an event. One that begins with a colon is a comment.
func (e *eventReader) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		e.kind = string(value)
	case "data":
		e.data = append(append(e.data, value...), '\n')
	}
}

// readLine returns the next line without its end. It is valid until the next one is read.
func (e *eventReader) readLine() (line []byte, ok bool) {
	e.line = e.line[:0]
	for {
		part, err := e.in.ReadSlice('\n')
		if len(e.line)+len(e.data)+len(part) > maxEvent {
			e.err = errEventSize
			return nil, false
		}
		switch {
		case err == nil && len(e.line) == 0:
			return bytes.TrimSuffix(part[:len(part)-1], []byte("\r")), true
		case errors.Is(err, bufio.ErrBufferFull):
			e.line = append(e.line, part...)
			continue
		}
		e.line = append(e.line, part...)
		if err != nil && !errors.Is(err, io.EOF) {
			e.err = err
			return nil, false
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(e.line, []byte("\n")), []byte("\r"))
		return line, err == nil || len(e.line) > 0
	}
}
