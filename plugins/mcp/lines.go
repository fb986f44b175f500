package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	maxStrays     = 1000    // lines in a row that are no messages
	maxStrayBytes = 1 << 20 // of them
)

// messages reads the standard output of a server, and skips lines that are no JSON-RPC messages: many programs greet, or
// log, there. It ends with an error if they do little else. It belongs to one goroutine.
type messages struct {
	in     *bufio.Reader
	closer io.Closer
	// found is called with the first line that is skipped.
	found func(line string)

	rest          []byte // of the message that is being read
	named         bool
	strays, bytes int // since the last message
}

func newMessages(in io.ReadCloser, found func(line string)) *messages {
	return &messages{in: bufio.NewReader(in), closer: in, found: found}
}

// Close implements [io.Closer].
func (m *messages) Close() error { return m.closer.Close() }

// Read implements [io.Reader].
func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.line()
		if isMessage(line) {
			m.rest, m.strays, m.bytes = line, 0, 0
			break
		}
		if err := m.skip(line); err != nil {
			return 0, err
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// skip counts a line that is no message.
func (m *messages) skip(line []byte) error {
	m.strays++
	m.bytes += len(line)
	if shown := bytes.TrimSpace(line); len(shown) > 0 && !m.named {
		m.named = true
		m.found(string(shown[:min(len(shown), maxTail)]))
	}
	if m.strays > maxStrays || m.bytes > maxStrayBytes {
		return errors.New("it writes other things than messages to its standard output")
	}
	return nil
}

// line returns the next line with its end. At the end of the output, and with an error, it can lack that.
func (m *messages) line() ([]byte, error) {
	var line []byte
	for {
		part, err := m.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxMessage:
			return nil, fmt.Errorf("a message is larger than %d MiB", maxMessage>>20)
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			return line, err
		}
	}
}

// isMessage reports whether a line is a JSON-RPC message, or several of them.
func isMessage(line []byte) bool {
	type message struct {
		Version string `json:"jsonrpc"`
	}
	var one message
	var all []message
	if err := json.Unmarshal(line, &one); err == nil {
		return one.Version != ""
	}
	return json.Unmarshal(line, &all) == nil && len(all) > 0 && all[0].Version != ""
}
