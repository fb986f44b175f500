// Package terminal is a chat client of a gateway's web API, for terminals and for scripts.
//
// [Client] makes the requests, and reconnects. [Chat] is a conversation in a terminal: keyboard reads the keys at any
// time, reply collects the arrived part of an answer, look renders it as rows, and screen replaces the rows that are
// still visible. [Script] is for pipes: it writes complete answers, or the frames as JSON.
//
// All text comes from a model, from tools or from the network. It is stripped of control characters before it is shown:
// see harmless.
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
	"parley/internal/lang"
	"parley/internal/rest"
)

const (
	mostFrame = 64 << 20    // bytes of one frame: a whole answer, or a call's images
	tries     = 8           // consecutive connection attempts: a gateway can need half a minute to restart
	pause     = time.Second // before the second attempt; it doubles up to
	longest   = 8 * time.Second
	quick     = 5 * time.Second // timeout of everything but streams
)

// Client is one conversation of a gateway. Its methods are safe for concurrent use.
type Client struct {
	// Locale is the language of the user, such as "de_DE.UTF-8"; empty is English. It is set before use.
	Locale string

	base         string
	http         *http.Client
	token        func() string // of the owner; nil for a visitor
	conversation string
}

// Frame holds the fields that are read of one event of an answer, as documented for the web API. Unknown fields and
// types are ignored, so that a newer gateway works with an older client.
type Frame struct {
	Type          string          `json:"type"`
	Text          *string         `json:"text,omitempty"`
	FullText      *string         `json:"fullText,omitempty"`
	Kind          string          `json:"kind,omitempty"`
	CallID        string          `json:"callId,omitempty"`
	ToolName      string          `json:"toolName,omitempty"`
	Stage         string          `json:"stage,omitempty"`
	At            int             `json:"at,omitempty"` // of tool: bytes of text above it
	Args          string          `json:"args,omitempty"`
	CompactParams string          `json:"compactParams,omitempty"`
	ShortResult   string          `json:"shortResult,omitempty"`
	Images        []string        `json:"images,omitempty"` // of tool: data: URLs; of done and of earlier messages: paths at the gateway
	Files         []File          `json:"files,omitempty"`  // other than images
	Error         string          `json:"error,omitempty"`
	FailureKind   string          `json:"failureKind,omitempty"`
	NoResponse    string          `json:"noResponseReason,omitempty"`
	Reason        string          `json:"reason,omitempty"` // a sentence that says why there is no whole answer
	Choices       *answer.Choices `json:"choices,omitempty"`
	After         int             `json:"after,omitempty"` // of reconnect, in milliseconds
	// raw is the frame as it arrived, which a script can write.
	raw []byte
}

// Message is an earlier message.
type Message struct {
	ID      string          `json:"id"`
	Role    string          `json:"role"` // user or assistant
	ReplyTo string          `json:"replyToMessageId"`
	Text    string          `json:"text"`
	Choices *answer.Choices `json:"choices"`
	Tools   []Frame         `json:"tools"` // the last frame of each call
}

// Open starts a conversation at the gateway with the URL base, or continues the named one if the gateway still has it:
// conversations can be deleted meanwhile. It fails if the gateway can't be reached or refuses the request.
func Open(ctx context.Context, base, conversation string) (*Client, error) {
	return OpenAsOwner(ctx, base, conversation, nil)
}

// OpenAsOwner is Open for the owner, who is on the gateway's machine. token returns the gateway's present token, or ""
// for none: another gateway that takes over has another one. It is sent to the gateway only, past any proxy. The errors
// are those of Open.
func OpenAsOwner(ctx context.Context, base, conversation string, token func() string) (*Client, error) {
	c := &Client{base: base, http: &http.Client{}, conversation: conversation, token: token}
	if token != nil {
		c.http.Transport = direct()
		c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
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

// direct returns a transport without a proxy.
func direct() http.RoundTripper {
	usual, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return &http.Transport{}
	}
	t := usual.Clone()
	t.Proxy = nil
	return t
}

// Conversation returns the conversation's id, which is sufficient to read and continue it. It is a secret.
func (c *Client) Conversation() string { return c.conversation }

// History returns the conversation so far, oldest message first. It fails if the gateway can't be reached or has no
// such conversation.
func (c *Client) History(ctx context.Context) ([]Message, error) {
	var said struct{ Messages []Message }
	if err := c.call(ctx, http.MethodGet, c.path("/messages"), &said); err != nil {
		return nil, fmt.Errorf("read the conversation: %w", err)
	}
	return said.Messages, nil
}

// Stop stops the current answers. It fails if the gateway can't be reached or refuses the request.
func (c *Client) Stop(ctx context.Context) error {
	if err := c.call(ctx, http.MethodPost, c.path("/stop"), nil); err != nil {
		return fmt.Errorf("stop the answer: %w", err)
	}
	return nil
}

// Send sends a message and yields the frames of the answer; the last has the type "done". It reconnects after a lost
// connection: the gateway recognizes the message by its id and continues the answer. Then the text starts over with a
// frame of the whole text; until then a frame of the type "reconnecting" reports the loss.
//
// It gives up after several consecutive attempts without a frame, and at once after an error reply that a repetition
// would not change. An error is yielded last, and wraps the cause. The sequence can be used once; if its consumer stops
// early, the answer continues at the gateway.
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
			// A rate limit on a repetition passes: the gateway already has the message. Before that it is an answer to
			// the user.
			passing := taken && tooMany(err)
			if try++; refused(err) && !passing || try >= tries || ctx.Err() != nil {
				break
			}
			if !yield(Frame{Type: reconnecting}, nil) {
				return
			}
			if rest.For(ctx, min(longest, pause<<(try-1))) != nil {
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

const chosen = "chosen" // the kind of a "done": an answer waited for this choice and continues

const reconnecting = "reconnecting" // the type of a frame that only the client produces

// Choose selects an option of a question by its index, and yields the resulting frames: if an answer waits for the
// choice, only a "done" of the kind "chosen". It is not retried, because after a failure the question is either
// unchanged or already answered.
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

// follow reads one stream. heard reports whether a frame has arrived, which is a sign that the gateway works. over
// reports that the stream is complete or its consumer has stopped; otherwise err is the reason for its end.
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
		// The gateway restarts and asks for a pause, which spreads its clients.
		if f.Type == "reconnect" {
			_ = rest.For(ctx, time.Duration(f.After)*time.Millisecond)
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

// refusal is an error reply that a retry would not change.
type refusal struct {
	status   int
	sentence string
}

func (r refusal) Error() string { return r.sentence }

// refused reports whether err is an error reply that a retry would not change. With 503, the gateway asks for one; after 401
// the gateway that has just started may have published its token.
func refused(err error) bool {
	var r refusal
	return errors.As(err, &r) && r.status != http.StatusServiceUnavailable && r.status != http.StatusUnauthorized || errors.Is(err, errUnknown)
}

// tooMany reports whether the gateway is rate limiting. A rate limited retry can be repeated later, because the gateway
// already has the message.
func tooMany(err error) bool {
	var r refusal
	return errors.As(err, &r) && r.status == http.StatusTooManyRequests
}

// path returns the path of something in the conversation.
func (c *Client) path(of string) string { return "/api/conversations/" + c.conversation + of }

// call makes a request that is not a stream. A nil into ignores the reply's body.
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

// say returns a sentence of package lang in the language of the user.
func (c *Client) say(key string) string { return lang.In(c.Locale).Say(key) }

// ending returns a sentence for the reason of a stream that ended without a message; "" if there is nothing to say, because a person reads it.
func (c *Client) ending(reason string) string {
	switch reason {
	case "relayed":
		return ""
	case "ignored":
		return c.say("page.no_reply_was_needed")
	case "superseded", "stopped":
		return c.say("turn." + reason)
	}
	return reason
}

// do makes a request. An unsuccessful reply becomes an error with the gateway's message: errUnknown for a missing
// conversation, and otherwise a refusal. The caller closes the body.
func (c *Client) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Locale != "" {
		req.Header.Set("Accept-Language", lang.In(c.Locale).Tag())
	}
	if c.token != nil {
		if token := c.token(); token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
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
