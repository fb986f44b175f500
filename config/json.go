package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// readJSON returns the single value of data like [readYAML]. JSON is not parsed as YAML, because its escapes differ.
func readJSON(data []byte) (*node, *Problem) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	r := &jsonReader{data: data, decoder: json.NewDecoder(bytes.NewReader(data))}
	r.decoder.UseNumber()
	n, err := r.value(0)
	if err == nil {
		if _, more := r.decoder.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the end")
		}
	}
	if err != nil {
		line, column := r.place()
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			line, column = r.at(max(int(syntax.Offset)-1, 0))
		}
		return nil, &Problem{Line: line, Column: column, Message: "not valid JSON: " + err.Error(), Hint: "check the commas and quotes around here"}
	}
	return n, nil
}

// jsonReader reads nodes from a decoder of tokens, which knows the offset of each.
type jsonReader struct {
	data    []byte
	decoder *json.Decoder
}

// place returns the decoder's position, before the next token.
func (r *jsonReader) place() (line, column int) {
	at := int(r.decoder.InputOffset())
	for at < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[at]) >= 0 {
		at++
	}
	return r.at(at)
}

// at returns the line and column of an offset.
func (r *jsonReader) at(offset int) (line, column int) {
	before := string(r.data[:min(offset, len(r.data))])
	return 1 + strings.Count(before, "\n"), 1 + len([]rune(before[strings.LastIndexByte(before, '\n')+1:]))
}

// maxNesting is the maximum depth of values: reading recurses.
const maxNesting = 50

// value reads the next value.
func (r *jsonReader) value(depth int) (*node, error) {
	if depth > maxNesting {
		return nil, errors.New("it is nested too deeply")
	}
	n := &node{}
	n.line, n.column = r.place()
	token, err := r.decoder.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case nil:
		n.kind = nothing
	case bool:
		n.kind, n.text = boolean, fmt.Sprint(t)
	case json.Number:
		n.kind, n.text = number, t.String()
	case string:
		n.kind, n.text = text, t
	case json.Delim:
		if t == '{' {
			n.kind = section
			return n, r.fields(n, depth)
		}
		n.kind = list
		return n, r.items(n, depth)
	}
	return n, nil
}

func (r *jsonReader) fields(n *node, depth int) error {
	for r.decoder.More() {
		f := field{}
		f.line, f.column = r.place()
		key, err := r.decoder.Token()
		if err != nil {
			return err
		}
		f.key, _ = key.(string)
		if f.value, err = r.value(depth + 1); err != nil {
			return err
		}
		n.fields = append(n.fields, f)
	}
	_, err := r.decoder.Token()
	return err
}

func (r *jsonReader) items(n *node, depth int) error {
	for r.decoder.More() {
		item, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	_, err := r.decoder.Token()
	return err
}
