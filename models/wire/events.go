package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const eventBuffer = 2 << 10 // bytes read at once, of what the transport has buffered

// ErrEventSize means that an event, or a line, is longer than its limit.
var ErrEventSize = errors.New("an event of the stream is too long")

// EventReader reads server-sent events, or plain lines. It belongs to one goroutine.
type EventReader struct {
	Kind string // of the newest event: the field event
	Data []byte // of the newest event: the field data, each line with its end. Overwritten by the next event
	Err  error  // why there are no more, except for the end

	in    *bufio.Reader
	limit int
	line  []byte // the part of a line that was read before
}

// NewEventReader returns a reader of events of at most limit bytes each.
func NewEventReader(in io.Reader, limit int) *EventReader {
	return &EventReader{in: bufio.NewReaderSize(in, eventBuffer), limit: limit}
}

// Next reads an event with data. What is not followed by an empty line is no event.
func (e *EventReader) Next() bool {
	e.Kind, e.Data = "", e.Data[:0]
	for {
		line, ok := e.Line()
		switch {
		case !ok:
			return false
		case len(line) == 0 && len(e.Data) > 0:
			return true
		case len(line) == 0:
			e.Kind = ""
		default:
			e.field(line)
		}
	}
}

// field reads a line of an event. One that begins with a colon is a comment.
func (e *EventReader) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		e.Kind = string(value)
	case "data":
		e.Data = append(append(e.Data, value...), '\n')
	}
}

// Line returns the next line without its end. It is valid until the next one is read.
func (e *EventReader) Line() (line []byte, ok bool) {
	e.line = e.line[:0]
	for {
		part, err := e.in.ReadSlice('\n')
		if len(e.line)+len(e.Data)+len(part) > e.limit {
			e.Err = ErrEventSize
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
			e.Err = err
			return nil, false
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(e.line, []byte("\n")), []byte("\r"))
		return line, err == nil || len(e.line) > 0
	}
}
