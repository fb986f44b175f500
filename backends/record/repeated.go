package record

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// BytesScanner is a destination for columns of text that is given their bytes, which it must not keep. So it allocates only what
// it needs of them.
type BytesScanner interface{ ScanBytes(text []byte) error }

// repeated is a destination for a column of few values that occur again and again, such as the authors of the messages in a
// room.
type repeated[S ~string] struct {
	into  *S
	known firsts[S]
}

// ScanBytes implements [BytesScanner].
func (r *repeated[S]) ScanBytes(text []byte) error {
	*r.into = r.known.of(text)
	return nil
}

// Scan implements [database/sql.Scanner].
func (r *repeated[S]) Scan(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("a text column holds %T", v)
	}
	*r.into = S(text)
	return nil
}

// firsts remembers the first strings that it is asked for, so that one that comes again is not allocated again.
type firsts[S ~string] struct {
	first [4]S
	n     int
}

func (k *firsts[S]) of(text []byte) S {
	for _, s := range k.first[:k.n] {
		if string(text) == string(s) {
			return s
		}
	}
	s := S(text)
	if k.n < len(k.first) {
		k.first[k.n] = s
		k.n++
	}
	return s
}

// contentColumn is a destination for the column content of memories. Most answers have only the names of their actions there, which
// it reads itself: decoding them by reflection took a quarter of the objects of a turn.
type contentColumn struct {
	into  *content
	name  firsts[string] // of actions
	names []string       // the lists of several messages, one after the other
}

// Scan implements [database/sql.Scanner].
func (c *contentColumn) Scan(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("a JSON column holds %T", v)
	}
	return c.ScanBytes([]byte(text))
}

// ScanBytes implements [BytesScanner].
func (c *contentColumn) ScanBytes(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	if list, ok := bytes.CutPrefix(text, []byte(`{"actions":[`)); ok && c.actions(list) {
		return nil
	}
	return json.Unmarshal(text, c.into)
}

// actions reads the rest of a list of actions, after its beginning, and reports whether nothing but names without special characters
// was there. Otherwise it changes nothing.
func (c *contentColumn) actions(rest []byte) bool {
	from := len(c.names)
	for {
		name, after, ok := quoted(rest)
		if !ok {
			break
		}
		if len(c.names) == cap(c.names) { // lists that were read before keep their values
			c.names, from = append(make([]string, 0, len(c.names)-from+32), c.names[from:]...), 0
		}
		c.names = append(c.names, c.name.of(name))
		if string(after) == "]}" {
			c.into.Actions = c.names[from:len(c.names):len(c.names)]
			return true
		}
		if rest, ok = bytes.CutPrefix(after, []byte{','}); !ok {
			break
		}
	}
	c.names = c.names[:from]
	return false
}

// quoted returns the string at the beginning of text and the text after it, if the string has no escapes in JSON.
func quoted(text []byte) (name, after []byte, ok bool) {
	if len(text) == 0 || text[0] != '"' {
		return nil, nil, false
	}
	for i, b := range text[1:] {
		switch {
		case b == '"':
			return text[1 : 1+i], text[2+i:], true
		case b < ' ' || b > '~' || b == '\\':
			return nil, nil, false
		}
	}
	return nil, nil, false
}
