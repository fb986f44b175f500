package sim

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
)

// Browser is a user with an open web chat. It records what the user sees.
type Browser struct {
	HTTP *http.Client
	Base string // http://host:port

	mu   sync.Mutex
	seen []Sight
	n    int
}

// Event is one frame of a stream, as received.
type Event struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	FullText    *string
	Kind        string
	Phase       string
	Stage       answer.Stage
	ToolName    string
	Images      []string
	Files       []File
	Choices     *answer.Choices
	CallID      string
	ActionName  string
	MessageID   string
	FailureKind llm.FailureKind
	Interrupted bool
	NoResponse  string `json:"noResponseReason"`
	Reason      string
	After       int

	At  time.Time `json:"-"`
	Raw string    `json:"-"`
}

// File is a file of an answer.
type File struct {
	Name, Type, URL string
	Size            int
}

// Stream is the stream of one answer.
type Stream struct {
	Status int    // of the reply; 200 if there is a stream
	Body   string // of a reply without a stream

	b     *Browser
	run   chat.RunID
	name  string
	body  io.ReadCloser
	lines *bufio.Reader
	text  string
	done  bool
}

// Open starts a conversation.
func (b *Browser) Open(ctx context.Context) (id string, err error) {
	var out struct{ Conversation struct{ ID string } }
	err = b.call(ctx, http.MethodPost, "/api/conversations", struct{}{}, &out)
	return out.Conversation.ID, err
}

// Line is one message as a reload shows it.
type Line struct {
	ID, Role, Text  string
	ClientMessageID string
	History         []string `json:"actionCallbackHistory"`
	Tools           []json.RawMessage
	Interrupted     bool
	FailureKind     llm.FailureKind
	Timestamp       int64 // in milliseconds
}

// Reload reads the conversation.
func (b *Browser) Reload(ctx context.Context, conversation string) ([]Line, error) {
	var out struct{ Messages []Line }
	err := b.call(ctx, http.MethodGet, "/api/conversations/"+conversation+"/messages", nil, &out)
	return out.Messages, err
}

// Load downloads an image or a file that a reload names, as a data: URL.
func (b *Browser) Load(ctx context.Context, address string) (string, error) {
	resp, err := b.do(ctx, http.MethodGet, "/"+address, nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %d %s", address, resp.StatusCode, body)
	}
	return "data:" + resp.Header.Get("Content-Type") + ";base64," + base64.StdEncoding.EncodeToString(body), err
}

// Stop stops the current answers.
func (b *Browser) Stop(ctx context.Context, conversation string) error {
	return b.call(ctx, http.MethodPost, "/api/conversations/"+conversation+"/stop", struct{}{}, nil)
}

func (b *Browser) call(ctx context.Context, method, path string, in, out any) error {
	resp, err := b.do(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, body)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(body, out)
}

func (b *Browser) do(ctx context.Context, method, path string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		j, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(j)
	}
	req, err := http.NewRequestWithContext(ctx, method, b.Base+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	return b.HTTP.Do(req)
}

// Send sends text and returns the stream of its answer. key identifies the message: the same key attaches to the same
// answer.
func (b *Browser) Send(ctx context.Context, conversation, key, text string) (*Stream, error) {
	return b.stream(ctx, conversation, "messages", key, map[string]any{"text": text, "clientMessageId": key})
}

// Choose presses an option and returns the resulting stream.
func (b *Browser) Choose(ctx context.Context, conversation string, o answer.Choices, option int) (*Stream, error) {
	return b.stream(ctx, conversation, "choices", o.ID, map[string]any{"id": o.ID, "option": option})
}

func (b *Browser) stream(ctx context.Context, conversation, of, key string, in map[string]any) (*Stream, error) {
	resp, err := b.do(ctx, http.MethodPost, "/api/conversations/"+conversation+"/"+of+"/stream", in)
	if err != nil {
		return nil, err
	}
	s := &Stream{Status: resp.StatusCode, b: b, body: resp.Body, lines: bufio.NewReader(resp.Body)}
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		s.Body = string(body)
		return s, resp.Body.Close()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	s.name = fmt.Sprintf("stream %d (%s)", b.n, key)
	return s, nil
}

// Next returns the next frame; io.EOF when the stream ended with none, io.ErrUnexpectedEOF when it was cut.
func (s *Stream) Next() (Event, error) {
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			if err == io.EOF && !s.done {
				err = io.ErrUnexpectedEOF
			}
			return Event{}, err
		}
		data, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "data: ")
		if !ok {
			continue
		}
		e := Event{At: time.Now(), Raw: data}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return e, fmt.Errorf("frame %q: %w", data, err)
		}
		return e, s.take(e)
	}
}

// take updates the text like a page.
func (s *Stream) take(e Event) error {
	if s.done {
		return fmt.Errorf("a frame after done: %s", e.Raw)
	}
	switch e.Type {
	case "token":
		if e.FullText != nil {
			if strings.Contains(e.Raw, `"text":`) {
				return fmt.Errorf("text and fullText in one frame: %s", e.Raw)
			}
			s.text = *e.FullText
		} else {
			s.text += e.Text
		}
	case "done":
		s.done = true
		if e.FullText == nil {
			return fmt.Errorf("done without fullText: %s", e.Raw)
		}
		if s.text != *e.FullText && e.NoResponse == "" {
			return fmt.Errorf("the frames add up to %q, done says %q", s.text, *e.FullText)
		}
		s.text, s.run = *e.FullText, chat.RunID(e.MessageID)
	default:
		return nil
	}
	s.b.see(Sight{At: e.At, Reader: s.name, Run: s.run, Text: s.text, Last: s.done, Gone: s.done && e.NoResponse != ""})
	return nil
}

func (b *Browser) see(s Sight) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = append(b.seen, s)
}

// All returns every frame up to the end.
func (s *Stream) All() (all []Event, err error) {
	defer s.Close()
	for {
		e, err := s.Next()
		if err == io.EOF {
			return all, nil
		} else if err != nil {
			return all, err
		}
		all = append(all, e)
	}
}

// Text returns the text that the reader sees now.
func (s *Stream) Text() string { return s.text }

// Close disconnects.
func (s *Stream) Close() { _ = s.body.Close() }

// Seen returns everything seen so far. What was seen before a stream named its run is attributed to that run.
func (b *Browser) Seen() []Sight {
	b.mu.Lock()
	defer b.mu.Unlock()
	run := map[string]chat.RunID{}
	for _, s := range b.seen {
		if s.Run != "" {
			run[s.Reader] = s.Run
		}
	}
	var out []Sight
	for _, s := range b.seen {
		if s.Run = run[s.Reader]; s.Run != "" {
			out = append(out, s)
		}
	}
	return out
}
