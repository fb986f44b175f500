package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
)

const (
	maxAnswer = 32 << 20 // bytes of a whole answer
	maxBlank  = 4 << 10  // bytes of white space before a body
)

// Middleware sends a request by next, and changes its response.
type Middleware = func(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error)

// Events returns a middleware like [Refuse], for requests whose response is a stream of events. The beginning of a
// response decides its kind: some servers and proxies label a stream as JSON, report errors with status 200, or send
// the whole answer at once. whole returns the events that a whole answer would have been, or nil if it is none.
func Events(whole func(answer []byte) []any) Middleware {
	return func(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
		res, err := Refuse(req, next)
		if err != nil {
			return nil, err
		}
		if err := WantEvents(res, whole); err != nil {
			return nil, errors.Join(err, res.Body.Close())
		}
		return res, nil
	}
}

// WantEvents makes the body of a response a stream of events: see [Events]. It returns an error if it can't be one.
func WantEvents(res *http.Response, whole func(answer []byte) []any) error {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if media == "text/event-stream" {
		return nil
	}
	in := bufio.NewReader(res.Body)
	res.Body = bounded{in, res.Body}
	first, err := firstOf(in)
	switch {
	case err != nil || first != '{' && first != '[' && first != '<' && media != "text/html":
		res.Header.Set("Content-Type", "text/event-stream")
		return nil // if there is nothing at all, its reader finds out
	case first == '{' || first == '[':
		body, err := io.ReadAll(io.LimitReader(in, maxAnswer))
		events := whole(body)
		if err == nil && events != nil {
			res.Header.Set("Content-Type", "text/event-stream")
			res.Body = bounded{bytes.NewReader(eventsOf(events)), res.Body}
			return nil
		}
		if r := ParseRefusal(body[:min(len(body), MaxRefusal)]); !r.Empty() {
			return r
		}
		return fmt.Errorf("the server answered with %s instead of a stream of events", media)
	}
	body, _ := io.ReadAll(io.LimitReader(in, MaxRefusal)) // half a page is better than none
	r := ParseRefusal(body)
	r.page = true
	return r
}

// firstOf returns the first byte of in that is not white space, and leaves it there.
func firstOf(in *bufio.Reader) (byte, error) {
	for range maxBlank {
		b, err := in.ReadByte()
		if err != nil {
			return 0, err
		}
		if b != ' ' && b != '\n' && b != '\r' && b != '\t' {
			return b, in.UnreadByte()
		}
	}
	return 0, io.ErrNoProgress
}

// eventsOf writes events. One with a type has it as its name too; text is data as it is.
func eventsOf(all []any) []byte {
	var out bytes.Buffer
	for _, e := range all {
		data, ok := e.(string)
		if !ok {
			text, err := json.Marshal(e)
			if err != nil {
				continue // decoded JSON can always be encoded
			}
			data = string(text)
		}
		if fields, ok := e.(map[string]any); ok && fields["type"] != nil {
			fmt.Fprintf(&out, "event: %s\n", fields["type"])
		}
		fmt.Fprintf(&out, "data: %s\n\n", data)
	}
	return out.Bytes()
}
