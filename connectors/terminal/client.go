// Package terminal is a chat in a terminal, and for scripts: a client of a gateway's web API.
package terminal

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"parley/core/answer"
)

const (
	mostFrame = 64 << 20    // bytes of one frame: a whole answer, or the pictures of a call
	tries     = 8           // to connect, in a row: a gateway may need half a minute to come back
	pause     = time.Second // before the second try; then twice that, up to
	longest   = 8 * time.Second
	quick     = 5 * time.Second // how long anything but a stream may take
)

// Client talks in one conversation of a gateway. Safe for concurrent use once it is made.
type Client struct {
	base         string
	http         *http.Client
	conversation string
}

// Frame is one event of an answer, as the web API documents it.
type Frame struct {
	Type          string          `json:"type"`
	Text          *string         `json:"text,omitempty"`
	FullText      *string         `json:"fullText,omitempty"`
	Kind          string          `json:"kind,omitempty"`
	ActionName    string          `json:"actionName,omitempty"`
	CallID        string          `json:"callId,omitempty"`
	ToolName      string          `json:"toolName,omitempty"`
	Stage         string          `json:"stage,omitempty"`
	At            int             `json:"at,omitempty"` // of tool: how many bytes of the text stand above it
	Args          string          `json:"args,omitempty"`
	CompactParams string          `json:"compactParams,omitempty"`
	Result        string          `json:"result,omitempty"`
	ShortResult   string          `json:"shortResult,omitempty"`
	Images        []string        `json:"images,omitempty"` // of tool, data: URLs; of done and of what was said before, addresses below the gateway's
	Files         []File          `json:"files,omitempty"`  // that are no pictures
	Error         string          `json:"error,omitempty"`
	MessageID     string          `json:"messageId,omitempty"`
	FailureKind   string          `json:"failureKind,omitempty"`
	Interrupted   bool            `json:"interrupted,omitempty"`
	NoResponse    string          `json:"noResponseReason,omitempty"`
	History       []string        `json:"actionCallbackHistory,omitempty"`
	Choices       *answer.Choices `json:"choices,omitempty"`
	After         int             `json:"after,omitempty"` // of reconnect, in milliseconds
	raw           []byte
}

// Message is one line of what was said before.
type Message struct {
	ID      string          `json:"id"`
	Role    string          `json:"role"` // user or assistant
	ReplyTo string          `json:"replyToMessageId"`
	Text    string          `json:"text"`
	Choices *answer.Choices `json:"choices"`
	Tools   []Frame         `json:"tools"` // the last of each call
}

// Open begins a conversation at the gateway whose address base is, or goes on with the one that is named, if the gateway
// knows it.
func Open(ctx context.Context, base, conversation string) (*Client, error) {
	c := &Client{base: base, http: &http.Client{}, conversation: conversation}
	if conversation != "" {
		_, err := c.History(ctx)
		if !errors.Is(err, errUnknown) {
			return c, err
		}
	}
	var made struct {
		Conversation struct{ ID string }
	}
	if err := c.call(ctx, http.MethodPost, "/api/conversations", &made); err != nil {
		return nil, fmt.Errorf("start a conversation: %w", err)
	}
	c.conversation = made.Conversation.ID
	return c, nil
}

// Conversation is its id, which is all that it takes to read it and to go on with it.
func (c *Client) Conversation() string { return c.conversation }

// History is what was said so far, oldest first.
func (c *Client) History(ctx context.Context) ([]Message, error) {
	var said struct{ Messages []Message }
	if err := c.call(ctx, http.MethodGet, c.path("/messages"), &said); err != nil {
		return nil, fmt.Errorf("read the conversation: %w", err)
	}
	return said.Messages, nil
}

// Stop ends whatever is being answered.
func (c *Client) Stop(ctx context.Context) error {
	if err := c.call(ctx, http.MethodPost, c.path("/stop"), nil); err != nil {
		return fmt.Errorf("stop the answer: %w", err)
	}
	return nil
}

// Send asks something and yields the frames of the answer; the last has the type "done". A connection that breaks is made
// again: the gateway knows the message by its id, and goes on. Then the text begins anew with a whole one; until then a frame
// of the type "reconnecting" says that it is missed.
func (c *Client) Send(ctx context.Context, text string) iter.Seq2[Frame, error] {
	body, err := json.Marshal(map[string]string{"text": text, "clientMessageId": rand.Text()})
	return func(yield func(Frame, error) bool) {
		for try, taken := 0, false; err == nil; {
			var heard, over bool
			heard, over, err = c.follow(ctx, "/messages/stream", body, yield)
			if over {
				return
			}
			if heard {
				try, taken = 0, true
			}
			passing := taken && tooMany(err)
			if try++; refused(err) && !passing || try >= tries || ctx.Err() != nil {
				break
			}
			if !yield(Frame{Type: reconnecting}, nil) {
				return
			}
			if !sleep(ctx, min(longest, pause<<(try-1))) {
				break
			}
			err = nil
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		yield(Frame{}, fmt.Errorf("send the message: %w", err))
	}
}

const chosen = "chosen" // the kind of a "done": an answer waited for this, and goes on

const reconnecting = "reconnecting" // the type of a frame that no gateway sends

// Choose takes an option, from 0, of a question, and yields the frames of what comes of it: where an answer waits for that,
// only a "done" of the kind "chosen". It is not tried again: the question stays as it is, or the choice was taken.
func (c *Client) Choose(ctx context.Context, question string, option int) iter.Seq2[Frame, error] {
	body, err := json.Marshal(map[string]any{"id": question, "option": option})
	return func(yield func(Frame, error) bool) {
		over := false
		if err == nil {
			_, over, err = c.follow(ctx, "/choices/stream", body, yield)
		}
		if !over {
			yield(Frame{}, fmt.Errorf("choose: %w", err))
		}
	}
}

// follow reads one stream. over says that there is nothing more to read, or nobody who reads.
func (c *Client) follow(ctx context.Context, path string, body []byte, yield func(Frame, error) bool) (heard, over bool, err error) {
	resp, err := c.do(ctx, http.MethodPost, c.path(path), body)
	if err != nil {
		return false, false, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, mostFrame)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		f := Frame{raw: bytes.Clone(data)}
		if err := json.Unmarshal(data, &f); err != nil {
			return heard, false, fmt.Errorf("read a frame: %w", err)
		}
		if f.Type == "reconnect" {
			sleep(ctx, time.Duration(f.After)*time.Millisecond)
			return true, false, errBroken
		}
		heard = true
		if !yield(f, nil) || f.Type == "done" {
			return true, true, nil
		}
	}
	if err = lines.Err(); err == nil {
		err = errBroken
	}
	return heard, false, err
}

var (
	errBroken  = errors.New("the connection to the gateway was lost")
	errUnknown = errors.New("the gateway doesn't know this conversation")
)

// refusal is an answer of the gateway that no second try would change.
type refusal struct {
	status   int
	sentence string
}

func (r refusal) Error() string { return r.sentence }

func refused(err error) bool {
	var r refusal
	return errors.As(err, &r) && r.status != http.StatusServiceUnavailable || errors.Is(err, errUnknown)
}

// tooMany reports whether the gateway has had too many requests. It has the message that was asked for again: that passes.
func tooMany(err error) bool {
	var r refusal
	return errors.As(err, &r) && r.status == http.StatusTooManyRequests
}

func (c *Client) path(of string) string { return "/api/conversations/" + c.conversation + of }

// call makes a request that is not a stream. A nil into wants nothing of the reply.
func (c *Client) call(ctx context.Context, method, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, quick)
	defer cancel()
	resp, err := c.do(ctx, method, path, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if into == nil {
		return nil
	}
	return json.NewDecoder(io.LimitReader(resp.Body, mostFrame)).Decode(into)
}

// do makes a request. A reply that is not a success is an error, in the gateway's own words.
func (c *Client) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	var said struct{ Error string }
	if json.NewDecoder(io.LimitReader(resp.Body, mostFrame)).Decode(&said) != nil || said.Error == "" {
		said.Error = "it answered " + resp.Status
	}
	if resp.StatusCode == http.StatusNotFound {
		return nil, fmt.Errorf("%w: %s", errUnknown, said.Error)
	}
	return nil, refusal{resp.StatusCode, said.Error}
}

// sleep says false if ctx was done before.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
