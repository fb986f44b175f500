// Package partialjson parses JSON incrementally, while it is streamed. It shows the parameters of a call while a model
// writes them: encoding/json accepts only whole values, and parsing the whole text again for each piece would cost the
// square of its length.
package partialjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// maxDepth is how deep values may be nested, as in encoding/json.
const maxDepth = 10000

// Reader parses one JSON value from pieces, cut anywhere. After each piece it provides everything that is certain:
// strings up to their last whole character; numbers, true, false and null once they are complete; objects and arrays
// with their content so far. At the end the value equals that of [json.Unmarshal] into an any. The cost is linear in
// the length, however it is cut. The zero Reader is ready for use. It is not safe for concurrent use.
//
// It is a state machine: at is the state that selects the next input, and open has the objects and arrays that have not
// ended. A value is put in its place when it begins, and replaced while it grows.
type Reader struct {
	at state
	// held is an escape, a character or a word that is not complete. It is at most a few bytes long, and is parsed
	// again with the next piece.
	held  string
	text  strings.Builder // of the open string or number
	open  []container     // the innermost last
	root  any
	names []string
	err   error
}

// state is the reader's position in the grammar.
type state uint8

const (
	value       state = iota
	firstOrEnd        // in an array
	nameOrEnd         // in an object
	name              // after a comma
	inName            //
	colon             //
	inString          //
	inNumber          //
	commaOrEnd        //
	nothingMore       // but white space
)

// container is an object or an array that has not ended.
type container struct {
	object map[string]any // nil in an array
	name   string         // of the member that is being read
	array  []any
}

// Add parses the next piece. Everything after a syntax error is ignored; the values before it stay.
func (r *Reader) Add(piece string) {
	if r.held != "" {
		piece, r.held = r.held+piece, ""
	}
	for piece != "" && r.err == nil {
		switch r.at {
		case inName, inString:
			piece = r.inside(piece)
		case inNumber:
			piece = r.number(piece)
		default:
			piece = r.between(piece)
		}
	}
	// An open string is shown as far as it goes. That is done once per piece, because a string is copied for it.
	if r.at == inString {
		r.change(r.text.String())
	}
}

// Value returns the certain part of the value so far; nil if there is none. It is valid until the next call of Add,
// which changes the same maps.
func (r *Reader) Value() any { return r.root }

// Object returns Value if that is an object, otherwise nil.
func (r *Reader) Object() map[string]any {
	object, _ := r.root.(map[string]any)
	return object
}

// Names returns the names of the members of Object that have a value, in order.
func (r *Reader) Names() []string { return r.names }

// Err returns the first syntax error.
func (r *Reader) Err() error { return r.err }

// Complete reports whether the value has ended. A number has ended only when something follows it.
func (r *Reader) Complete() bool { return r.err == nil && r.at == nothingMore }

var errDepth = errors.New("the JSON is nested too deep")

// fail notes a syntax error at c. Its result is the empty rest, which ends the parsing.
func (r *Reader) fail(c byte) string {
	r.err = fmt.Errorf("the JSON has an unexpected %q", c)
	return ""
}

// between reads input outside of strings and numbers, and returns the rest.
func (r *Reader) between(piece string) (rest string) {
	c := piece[0]
	switch {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		return piece[1:]
	case r.at == value, r.at == firstOrEnd && c != ']':
		return r.begin(piece)
	case r.at == firstOrEnd:
		r.close()
	case r.at == nameOrEnd && c == '}':
		r.close()
	case (r.at == nameOrEnd || r.at == name) && c == '"':
		r.at = inName
		r.text.Reset()
	case r.at == colon && c == ':':
		r.at = value
	case r.at == commaOrEnd:
		return r.next(piece)
	default:
		return r.fail(c)
	}
	return piece[1:]
}

// next reads the separator or end after an element.
func (r *Reader) next(piece string) (rest string) {
	object := r.open[len(r.open)-1].object != nil
	switch c := piece[0]; {
	case c == ',' && object:
		r.at = name
	case c == ',':
		r.at = value
	case c == '}' && object, c == ']' && !object:
		r.close()
	default:
		return r.fail(c)
	}
	return piece[1:]
}

// begin reads the beginning of a value, or all of a word.
func (r *Reader) begin(piece string) (rest string) {
	switch c := piece[0]; {
	case c == '"':
		r.at = inString
		r.text.Reset()
		r.put("")
	case c == '{':
		r.push(container{object: map[string]any{}}, nameOrEnd)
	case c == '[':
		r.push(container{array: []any{}}, firstOrEnd)
	case c == '-' || '0' <= c && c <= '9':
		r.at = inNumber
		r.text.Reset()
		return piece
	default:
		return r.word(piece)
	}
	return piece[1:]
}

// word reads true, false or null.
func (r *Reader) word(piece string) (rest string) {
	for _, w := range [...]struct {
		text  string
		value any
	}{{"true", true}, {"false", false}, {"null", nil}} {
		switch {
		case strings.HasPrefix(piece, w.text):
			r.put(w.value)
			r.ended()
			return piece[len(w.text):]
		case strings.HasPrefix(w.text, piece):
			r.held = piece
			return ""
		}
	}
	return r.fail(piece[0])
}

// number reads on in a number, which ends with the first byte that can't be in one. encoding/json decides whether it is
// valid.
func (r *Reader) number(piece string) (rest string) {
	n := 0
	for n < len(piece) && strings.IndexByte("0123456789+-.eE", piece[n]) >= 0 {
		n++
	}
	r.text.WriteString(piece[:n])
	if n == len(piece) {
		return ""
	}
	var v float64
	if err := json.Unmarshal([]byte(r.text.String()), &v); err != nil {
		r.err = fmt.Errorf("read a number: %w", err)
		return ""
	}
	r.put(v)
	r.ended()
	return piece[n:]
}
