// Package progressivetest is a simulated conversation: it applies requests like a platform, fails as configured,
// records everything, and reports violations of the rules.
package progressivetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/core/answer"
	"parley/internal/lang"
	"parley/progressive"
)

// Chat is one conversation. Set its exported fields before the first request.
type Chat struct {
	Name    string
	Max     int           // the limit of one message, in bytes; 0 for none
	Latency time.Duration // of a request: half on the way there, half on the way back
	Window  time.Duration // how long a nonce is valid
	Typed   time.Duration // how long a typing indicator stays
	Notify  bool          // new messages notify users, unless they are silent
	Resend  bool          // resend a final text with an unknown outcome, marked
	Limits  map[progressive.Scope]progressive.Budget
	// Fate determines the outcome of a request; nil lets all succeed. It is called before the request is applied.
	Fate func(Request) Fault

	mu       sync.Mutex
	log      []Request
	messages []*message
	held     map[progressive.Scope]time.Time
	counted  map[progressive.Scope][]time.Time
	inside   int
	drafts   draft
	closed   bool
	problems []string
}

// ChangeFate changes Fate while requests are under way.
func (c *Chat) ChangeFate(change func(before func(Request) Fault) func(Request) Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Fate = change(c.Fate)
}

// Request is one request as it arrived.
type Request struct {
	N       int // how many came before
	Op      progressive.Op
	ID      string // of the message it names, or of the one it made
	Part    progressive.Part
	Nonce   string
	At      time.Time // when it arrived
	Applied bool
	Err     error // what was answered
}

// draft is the one that readers see, if its time is not over.
type draft struct {
	text    string
	until   time.Time
	unsure  bool // its sender may not know that it is shown
	removed chan struct{}
}

// DraftTime is how long a draft stays.
const DraftTime = 30 * time.Second

// Draft is the text that is shown as a draft now; empty if there is none.
func (c *Chat) Draft() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.draftNow()
}

func (c *Chat) draftNow() string {
	if time.Now().Before(c.drafts.until) {
		return c.drafts.text
	}
	return ""
}

// RemoveDraft takes the draft away, as a message from someone does.
func (c *Chat) RemoveDraft() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeDraft()
}

func (c *Chat) removeDraft() {
	if c.drafts.removed != nil {
		close(c.drafts.removed)
	}
	c.drafts = draft{}
}

func (c *Chat) draft(ctx context.Context, p progressive.Part) (time.Duration, <-chan struct{}, error) {
	c.mu.Lock()
	c.drafts.removed = make(chan struct{})
	removed := c.drafts.removed
	c.mu.Unlock()
	err := c.request(ctx, Request{Op: progressive.Draft, Part: p}, func(r *Request) error {
		c.drafts.text, c.drafts.until = says(p), time.Now().Add(DraftTime)
		return nil
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drafts.unsure = err != nil
	return DraftTime, removed, err
}

// Fault is what becomes of a request instead of success.
type Fault struct {
	Err     error
	Applied bool // it is done all the same
	Delay   time.Duration
	Silent  bool // there is no answer until the caller goes away
	Remove  bool // a user removes every message just before
}

type message struct {
	id, nonce string
	versions  []string
	created   time.Time
	gone      bool
	unsure    bool // its creator may not know its content
	silent    bool // it notified no one
	now       progressive.Part
}

// Render shows the text of v, in parts, with a mark if it was cut off.
func (c *Chat) Render(v answer.View, _ ...string) (parts []progressive.Part) {
	text, limit := v.Text(), c.Max
	if v.Outcome.Interrupted() {
		text += " [" + string(v.Outcome.Status) + "]"
	}
	if limit == 0 {
		limit = len(text)
	}
	for i, t := range Split(text, limit) {
		parts = append(parts, progressive.Part{Text: t, Plain: t, ReplyTo: i == 0})
	}
	if n := len(parts); n > 0 {
		parts[n-1].Offer = v.Choices
	}
	files, _ := progressive.Files(v, 1<<20, lang.Voice{}.Say)
	return append(parts, files...)
}

// Split cuts text after words, where there are any, into parts of at most limit bytes.
func Split(text string, limit int) (parts []string) {
	for len(text) > limit {
		n := strings.LastIndexByte(text[:limit], ' ') + 1
		if n == 0 {
			n = limit
		}
		parts, text = append(parts, text[:n]), text[n:]
	}
	if text != "" {
		parts = append(parts, text)
	}
	return parts
}

// Resends implements [progressive.Resender].
func (c *Chat) Resends() bool { return c.Resend }

// Pings implements [progressive.Pinger].
func (c *Chat) Pings() (notifies, moves bool) { return c.Notify, true }

// Notified returns the texts of the messages that notified users when they were posted, oldest first.
func (c *Chat) Notified() (texts []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.messages {
		if !m.silent && len(m.versions) > 0 {
			texts = append(texts, m.versions[0])
		}
	}
	return texts
}

// Marked implements [progressive.Resender].
func (c *Chat) Marked(p progressive.Part) progressive.Part {
	return progressive.WithMark(p, lang.Voice{}.Say)
}

// Scopes are the chat and the bot.
func (c *Chat) Scopes(progressive.Op) []progressive.Scope {
	return []progressive.Scope{c.scope(), "bot"}
}

func (c *Chat) scope() progressive.Scope { return progressive.Scope("chat/" + c.Name) }

// request lets r arrive, applies it, and answers, as its fate says.
func (c *Chat) request(ctx context.Context, r Request, apply func(*Request) error) error {
	f := c.begin(&r)
	defer c.end()
	if err := sleep(ctx, c.Latency/2+f.Delay); err != nil {
		return err
	}
	c.arrive(&r, f, apply)
	if f.Silent {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	if err := sleep(ctx, c.Latency/2); err != nil {
		return err
	}
	c.answer(r)
	return r.Err
}

func (c *Chat) begin(r *Request) (f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.check(*r)
	c.inside++
	if r.N = len(c.log); c.Fate != nil {
		f = c.Fate(*r)
	}
	return f
}

func (c *Chat) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inside--
}

func (c *Chat) arrive(r *Request, f Fault, apply func(*Request) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.At, r.Err = time.Now(), f.Err
	c.count()
	if f.Remove {
		c.remove()
	}
	if f.Err == nil || f.Applied {
		err := apply(r)
		r.Applied = err == nil
		if f.Err == nil {
			r.Err = err
		}
	}
	if r.Nonce != "" && errors.Is(f.Err, progressive.ErrGone) { // so it was there
		c.messages = append(c.messages, &message{nonce: r.Nonce, created: time.Now(), gone: true})
	}
	if m := c.find(r.ID); m != nil && (r.Err != nil || f.Silent || c.Window > 0 && c.posted(*r)) {
		m.unsure = true
	}
	c.log = append(c.log, *r)
}

// posted reports whether r is a post with a nonce that was used before.
func (c *Chat) posted(r Request) bool {
	return r.Op == progressive.Post && slices.ContainsFunc(c.log, func(o Request) bool { return o.Nonce == r.Nonce })
}

func (c *Chat) answer(r Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slow, ok := r.Err.(progressive.RetryAfter); ok {
		if c.held == nil {
			c.held = map[progressive.Scope]time.Time{}
		}
		c.held[slow.Scope] = time.Now().Add(slow.After)
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Chat) post(ctx context.Context, p progressive.Part, nonce string) (id string, err error) {
	err = c.request(ctx, Request{Op: progressive.Post, Part: p, Nonce: nonce}, func(r *Request) error {
		for _, m := range c.messages {
			if m.nonce == nonce && time.Since(m.created) < c.Window {
				if m.gone {
					return progressive.ErrGone
				}
				id, r.ID = m.id, m.id
				return nil
			}
		}
		id = fmt.Sprintf("m%d", len(c.messages)+1)
		c.removeDraft()
		c.messages = append(c.messages, &message{id: id, nonce: nonce, versions: []string{says(p)}, created: time.Now(), now: p, silent: p.Silent})
		r.ID = id
		return nil
	})
	return id, err
}

func (c *Chat) edit(ctx context.Context, id string, p progressive.Part) error {
	return c.request(ctx, Request{Op: progressive.Edit, ID: id, Part: p}, func(*Request) error {
		m := c.find(id)
		if m == nil {
			return progressive.ErrGone
		}
		m.versions, m.now, m.unsure = append(m.versions, says(p)), p, false
		return nil
	})
}

func (c *Chat) delete(ctx context.Context, id string) error {
	return c.request(ctx, Request{Op: progressive.Delete, ID: id}, func(*Request) error {
		if m := c.find(id); m != nil {
			m.gone = true
		}
		return nil
	})
}

func (c *Chat) typing(ctx context.Context) (time.Duration, error) {
	return c.Typed, c.request(ctx, Request{Op: progressive.Typing}, func(*Request) error { return nil })
}

func (c *Chat) find(id string) *message {
	for _, m := range c.messages {
		if m.id == id && !m.gone {
			return m
		}
	}
	return nil
}

func says(p progressive.Part) string {
	if p.File != nil {
		return "[" + p.File.Name + "]"
	}
	if p.Text == "" {
		return p.Plain
	}
	return p.Text
}

// Remove takes away every message, as a user would.
func (c *Chat) Remove() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove()
}

func (c *Chat) remove() {
	for _, m := range c.messages {
		m.gone = true
	}
}

// Shown is what a reader sees: the messages in order.
func (c *Chat) Shown() (texts []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.messages {
		if !m.gone {
			texts = append(texts, m.versions[len(m.versions)-1])
		}
	}
	return texts
}

// Text is what a message says now; empty if it is not there.
func (c *Chat) Text(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.find(id); m != nil {
		return m.versions[len(m.versions)-1]
	}
	return ""
}

// Versions are all the texts that each message has had, in order.
func (c *Chat) Versions() (all [][]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.messages {
		all = append(all, m.versions)
	}
	return all
}

// Log returns the requests that arrived, of the given kinds or of all.
func (c *Chat) Log(ops ...progressive.Op) (out []Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.log {
		if len(ops) == 0 || strings.Contains(fmt.Sprint(ops), r.Op.String()) {
			out = append(out, r)
		}
	}
	return out
}
