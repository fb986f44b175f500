package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"parley/core/llm"
	"slices"
	"strings"
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

// End yields the last chunks of an answer: its opaque data and its usage; nil is none. An answer that is not done is [ErrCut], with
// err, the reason why there are no more events, if there is one.
func End(done bool, err error, opaque *llm.Opaque, usage *llm.Usage, yield func(llm.Chunk) bool) error {
	switch {
	case !done && err != nil:
		return fmt.Errorf("%w: %w", ErrCut, err)
	case !done:
		return ErrCut
	}
	if opaque != nil && !yield(llm.Chunk{Opaque: opaque}) {
		return nil
	}
	if usage != nil {
		yield(llm.Chunk{Usage: usage})
	}
	return nil
}

// Keep returns the parts of an answer as opaque data of its owner, or nil if none of them has to be sent back.
func Keep[T any](owner string, parts []T, needed func(T) bool) *llm.Opaque {
	data, err := json.Marshal(parts)
	if err != nil || !slices.ContainsFunc(parts, needed) {
		return nil
	}
	return &llm.Opaque{Owner: owner, Data: data}
}

// Picture returns a generated image. It fails if data is something else.
func Picture(data []byte) (llm.File, error) {
	media := http.DetectContentType(data)
	kind, ok := strings.CutPrefix(media, "image/")
	if !ok {
		return llm.File{}, fmt.Errorf("generate an image: the response is not an image but %s", media)
	}
	return llm.File{Name: "picture." + kind, Type: media, Data: data}, nil
}

// Speech returns the file of a recording of speech. It fails if data is none.
func Speech(data []byte) (llm.File, error) {
	f := llm.File{Name: "voice", Data: data}
	switch {
	case bytes.HasPrefix(data, []byte("OggS")):
		f.Name, f.Type = "voice.ogg", "audio/ogg"
	case bytes.HasPrefix(data, []byte("RIFF")):
		f.Name, f.Type = "voice.wav", "audio/wav"
	case bytes.HasPrefix(data, []byte("ID3")), len(data) > 1 && data[0] == 0xff && data[1]&0xe0 == 0xe0:
		f.Name, f.Type = "voice.mp3", "audio/mpeg"
	default:
		return llm.File{}, fmt.Errorf("speak: the response is not speech but %s", http.DetectContentType(data))
	}
	return f, nil
}

// EmbedBatch is the number of texts in one request for embeddings. OpenAI accepts 2048, smaller servers a few hundred.
const EmbedBatch = 64

// Embed embeds texts, for an implementation of [llm.Embedder.Embed]. embed makes one request for the vectors of some of them.
func Embed(ctx context.Context, m *Endpoint, texts []string, embed func(ctx context.Context, model string, texts []string) ([][]float32, error)) ([][]float32, error) {
	return Once(ctx, m, func(model string) ([][]float32, error) {
		all := make([][]float32, 0, len(texts))
		for part := range slices.Chunk(texts, EmbedBatch) {
			vectors, err := embed(ctx, model, part)
			if err == nil && len(vectors) != len(part) {
				err = fmt.Errorf("got %d vectors for %d texts", len(vectors), len(part))
			}
			if err != nil {
				return nil, fmt.Errorf("embed: %w", err)
			}
			all = append(all, vectors...)
		}
		if slices.ContainsFunc(all, func(v []float32) bool { return len(v) == 0 || len(v) != len(all[0]) }) {
			return nil, errors.New("embed: the vectors differ in length")
		}
		return all, nil
	})
}
