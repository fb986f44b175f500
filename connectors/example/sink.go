package example

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"parley/connectors"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/progressive"
	"parley/progressive/markdown"
)

const roomScope = "example.room" // all requests in a room

// sink is one conversation.
type sink struct {
	*Example
	to       address
	messages *progressive.MarkdownMessages
}

var (
	_ progressive.Sink        = (*sink)(nil)
	_ progressive.Editor      = (*sink)(nil)
	_ progressive.Deleter     = (*sink)(nil)
	_ progressive.NonceKeeper = (*sink)(nil)
)

// Open implements [connectors.Poster].
func (e *Example) Open(_ context.Context, a chat.Address) (progressive.Sink, error) {
	s := &sink{Example: e}
	if err := json.Unmarshal(a.ConnectorData, &s.to); err != nil {
		return nil, fmt.Errorf("%w: read the address: %w", chat.ErrUnreached, err)
	}
	if a.ReplyTo == "" {
		s.to.Message = "" // the address of the room, with the last message there
	}
	s.messages = progressive.NewMarkdownMessages(progressive.MarkdownOptions{
		Dialect: markdown.Plain(), Limits: markdown.Limits{Length: 3000}, MostFile: 1 << 20, Reply: s.to.Message != "",
	})
	return s, nil
}

// Render implements [progressive.Sink].
func (s *sink) Render(v answer.View, refused ...string) []progressive.Part {
	return s.messages.Parts(v, refused...)
}

// Scopes implements [progressive.Sink].
func (s *sink) Scopes(progressive.Op) []progressive.Scope {
	return []progressive.Scope{progressive.Scope(roomScope + "/" + s.to.Room)}
}

// content is a message as the server receives it: a text or a file.
type content struct {
	Text    string    `json:"text,omitempty"`
	File    *llm.File `json:"file,omitempty"`
	ReplyTo string    `json:"reply_to,omitempty"`
	Nonce   string    `json:"nonce,omitempty"`
}

func (s *sink) content(p progressive.Part) content {
	if p.File != nil {
		f := *p.File
		f.Name = connectors.FileName(f.Name)
		return content{File: &f}
	}
	c := content{Text: cmp.Or(p.Text, p.Plain)}
	if p.ReplyTo {
		c.ReplyTo = s.to.Message
	}
	if p.Offer != nil { // Example has no buttons: users write the option or its number
		c.Text += "\n\n" + p.Offer.Numbered()
	}
	return c
}

// path returns the path of the room's messages.
func (s *sink) path() string { return "/rooms/" + url.PathEscape(s.to.Room) + "/messages/" }

// Post implements [progressive.Sink].
func (s *sink) Post(ctx context.Context, p progressive.Part, nonce string) (string, error) {
	c := s.content(p)
	c.Nonce = nonce
	var posted struct {
		ID string `json:"id"`
	}
	err := s.do(ctx, "POST", s.path(), c, &posted)
	return posted.ID, s.scoped(err)
}

// NonceWindow implements [progressive.NonceKeeper]: for four minutes, posting with the same nonce returns the same
// message.
func (s *sink) NonceWindow() time.Duration { return 3 * time.Minute }

// Edit implements [progressive.Editor].
func (s *sink) Edit(ctx context.Context, id string, p progressive.Part) error {
	return s.scoped(s.do(ctx, "PUT", s.path()+url.PathEscape(id), s.content(p), &struct{}{}))
}

// Delete implements [progressive.Deleter].
func (s *sink) Delete(ctx context.Context, id string) error {
	err := s.do(ctx, "DELETE", s.path()+url.PathEscape(id), nil, &struct{}{})
	if errors.Is(err, progressive.ErrGone) {
		return nil
	}
	return s.scoped(err)
}

// scoped adds to a rate limit which budget it closes.
func (s *sink) scoped(err error) error {
	if r := (progressive.RetryAfter{}); errors.As(err, &r) {
		r.Scope = s.Scopes(progressive.Post)[0]
		return r
	}
	return err
}
