package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// eventBuffer is the number of bytes that are read at once. The transport buffers too, so more would only use memory
// for each stream.
const eventBuffer = 2 << 10 // bytes read at once, from the buffer of the transport

// ErrEventSize is the error of an event, or a line, that is longer than the limit of its reader.
var ErrEventSize = errors.New("an event of the stream is too long")

// EventReader reads server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), or plain
// lines. It allocates nothing for most events, as answers have thousands. It must be used by one goroutine at a time.
type EventReader struct {
	Kind string // the field event of the newest event
	ID   string // its field id; "" if it has none
	Data []byte // its field data, each line with its end; overwritten by the next event
	Err  error  // why there are no more events; nil after a regular end

	in    *bufio.Reader
	limit int
	line  []byte // the beginning of a line that is longer than the buffer, or the last one
}

// NewEventReader returns a reader of events of at most limit bytes each.
func NewEventReader(in io.Reader, limit int) *EventReader {
	return &EventReader{in: bufio.NewReaderSize(in, eventBuffer), limit: limit}
}

// Next reads the next event with data, and reports whether there is one. By the standard, an event is complete with an
// empty line: a part that the stream cuts off before that is no event.
func (e *EventReader) Next() bool {
	e.Kind, e.ID, e.Data = "", "", e.Data[:0]
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

// field reads a line of an event. Lines that begin with a colon are comments, which some servers send to keep the
// connection open; their name is empty.
func (e *EventReader) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		e.Kind = string(value)
	case "id":
		e.ID = string(value)
	case "data":
		e.Data = append(append(e.Data, value...), '\n')
	}
}

// Line returns the next line without its end, and false at the end of the stream. It is valid until the next call.
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
