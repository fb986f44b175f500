package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

const (
	maxBody   = 21 << 20     // bytes: four images and a text
	maxChoice = 32 << 10     // bytes of a choice's body, or of the values of a form
	maxDepth  = 16           // nested objects and arrays
	maxValues = 1000         // members and elements per body
	maxToken  = 5<<20 + 4096 // bytes of one encoded string, number or gap: an image, with some escapes
)

// Reasons to refuse a body before all of it is decoded.
var (
	errComplex = errors.New("the JSON has too many values, or is nested too deeply")
	errToken   = errors.New("a value of the JSON is too long")
	errForm    = errors.New("the JSON has an unexpected structure")
)

// jsonBounds passes a JSON text through and fails as soon as the text exceeds a limit, so that a decoder behind it
// never holds more: encoding/json buffers a whole value before it looks at it, and recurses for each level. It does not
// validate the JSON; the decoder does. It follows only the necessary parts: strings with their escapes, and structural
// characters.
type jsonBounds struct {
	r      io.Reader
	err    error
	depth  int
	values int
	token  int // bytes since the last structural character
	// quoted is whether the next byte is inside a string, and escape whether it follows a backslash there.
	quoted bool
	escape bool
}

// Read implements io.Reader.
func (b *jsonBounds) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.r.Read(p)
	for _, c := range p[:n] {
		if b.err = b.check(c); b.err != nil {
			return 0, b.err
		}
	}
	return n, err
}

// check counts one byte.
func (b *jsonBounds) check(c byte) error {
	switch {
	case b.quoted:
		b.token++
		b.quoted = b.escape || c != '"'
		b.escape = !b.escape && c == '\\'
	case c == '"':
		b.quoted, b.token = true, 0
	case c == '{' || c == '[':
		b.depth++
		b.values++
		b.token = 0
	case c == '}' || c == ']':
		b.depth--
		b.token = 0
	case c == ',':
		b.values++
		b.token = 0
	case c == ':':
		b.token = 0
	default:
		b.token++ // including white space, because the decoder buffers it
	}
	switch {
	case b.depth > maxDepth || b.values > maxValues:
		return errComplex
	case b.token > maxToken:
		return errToken
	}
	return nil
}

// readBody reads a request body that is one JSON object. field reads each member's value from dec, or skips it: values
// are decoded one by one, so that at most one image is held twice, encoded and decoded. most is the maximum size in
// bytes. Text after the object is an error.
func readBody(rw http.ResponseWriter, r *http.Request, most int64, field func(dec *json.Decoder, key string) error) error {
	dec := json.NewDecoder(&jsonBounds{r: http.MaxBytesReader(rw, r.Body, most)})
	if err := readObject(dec, field); err != nil {
		return fmt.Errorf("read a JSON body: %w", err)
	}
	switch _, err := dec.Token(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return fmt.Errorf("read past a JSON body: %w", err)
	}
	return fmt.Errorf("read past a JSON body: %w", errForm)
}

// readObject reads the members of the next object in dec.
func readObject(dec *json.Decoder, field func(dec *json.Decoder, key string) error) error {
	if err := readDelim(dec, '{'); err != nil {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		if err := field(dec, key.(string)); err != nil { // the decoder returns only strings as member names
			return err
		}
	}
	return readDelim(dec, '}')
}

// readArray calls element for each element of the next array in dec; null counts as an empty array.
func readArray(dec *json.Decoder, element func(dec *json.Decoder) error) error {
	switch t, err := dec.Token(); {
	case err != nil:
		return err
	case t == nil:
		return nil
	case t != json.Delim('['):
		return errForm
	}
	for dec.More() {
		if err := element(dec); err != nil {
			return err
		}
	}
	return readDelim(dec, ']')
}

// readDelim reads the next token, which must be want.
func readDelim(dec *json.Decoder, want json.Delim) error {
	t, err := dec.Token()
	if err == nil && t != want {
		err = errForm
	}
	return err
}

// skipValue discards the next value in dec, of any form, without recursion. Unknown members are skipped so that newer
// clients can talk to this version.
func skipValue(dec *json.Decoder) error {
	for depth := 0; ; {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}
