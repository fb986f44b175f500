package discord

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/lang"
	"parley/progressive"
)

const (
	// nonceWindow is how long Discord recognizes a nonce. Its reference says "in the past few minutes", so this is a
	// careful reading.
	nonceWindow = 120 * time.Second
	// typingTime is shorter than the indicator's ten seconds in clients, so that it is renewed after eight.
	typingTime = 9 * time.Second
)

// The kinds of scopes.
const (
	channelScope = "discord.channel" // all requests in one channel
	routeScope   = "discord.route"   // one kind of request there: it has no budget but Discord's response headers
	botScope     = "discord.bot"     // all requests
)

// Budgets implements [connectors.Settings]. Discord publishes no limit of a channel; bots observe five messages in five
// seconds. One permit is reserved for requests that matter more than edits of a growing answer. A route has no budget
// of its own: its scope exists so that the limits in the response headers can be applied.
func (c *Config) Budgets() map[string]progressive.Budget {
	l := c.Limits
	return map[string]progressive.Budget{
		channelScope: {N: 5, Per: 5 * l.Edits, Reserve: 1, Pace: l.Edits},
		routeScope:   {},
		botScope:     {N: l.PerSecond, Per: time.Second, Pace: time.Second / time.Duration(max(l.PerSecond, 1))},
	}
}

// sink posts one answer to one conversation. Requests come one after the other. Render and Scopes can be called during
// a typing request, which comes from another goroutine; they read only fields that it does not change. The next sink
// learns the same state (alone, closed, blocked) for itself.
type sink struct {
	client  *client
	bot     string
	to      address
	log     *slog.Logger
	alone   bool   // replies are refused here
	closed  bool   // the bot may not write here; more attempts would count toward an IP ban
	blocked string // the text that replaces an answer refused by a filter; empty if none was

	report      func(ctx context.Context, guild, channel string, err error) // of a missing permission
	threads     *threads
	opened      bool   // the thread of the address exists, or was refused
	instead     string // the channel that is used because the thread was refused
	interaction string // that whose rate limits apply, instead of the channel's; empty for requests without its token

	prose   *progressive.MarkdownMessages
	learned *progressive.BudgetHint // from the last response; nil if none
}

var (
	_ progressive.Sink           = (*sink)(nil)
	_ progressive.Editor         = (*sink)(nil)
	_ progressive.Deleter        = (*sink)(nil)
	_ progressive.Typer          = (*sink)(nil)
	_ progressive.NonceKeeper    = (*sink)(nil)
	_ progressive.Resender       = (*sink)(nil)
	_ progressive.Prober         = (*sink)(nil)
	_ progressive.BudgetReporter = (*sink)(nil)
)

var errClosed = errors.New("the platform already refused the bot here")

// Scopes implements [progressive.Sink]. Each request counts for the channel, for its route there, and for the bot. Discord counts the
// responses to an interaction separately: for the interaction and for none of these.
func (s *sink) Scopes(op progressive.Op) []progressive.Scope {
	if s.interaction != "" {
		return []progressive.Scope{progressive.Scope(channelScope + "/" + s.interaction), s.route(op)}
	}
	return []progressive.Scope{progressive.Scope(channelScope + "/" + s.to.Channel), s.route(op), progressive.Scope(botScope + "/" + s.bot)}
}

// route returns the scope of one kind of request in the channel, or to the interaction.
func (s *sink) route(op progressive.Op) progressive.Scope {
	return progressive.Scope(routeScope + "/" + cmp.Or(s.interaction, s.to.Channel) + "/" + op.String())
}

// BudgetHint implements [progressive.BudgetReporter]: it returns the state of the bucket in the last response, so that
// requests are neither sent too early nor delayed needlessly. Each response is reported once.
func (s *sink) BudgetHint() (l progressive.BudgetHint, ok bool) {
	if s.learned != nil {
		l, ok = *s.learned, true
		s.learned = nil
	}
	return l, ok
}

// Render implements [progressive.Sink]. After a filter's refusal it returns one fixed sentence, whatever the answer
// holds; its buttons are kept, because a question may wait for them.
func (s *sink) Render(v answer.View, refused ...string) []progressive.Part {
	if s.blocked != "" {
		return []progressive.Part{{Text: s.blocked, Plain: s.blocked, ReplyTo: true, Offer: v.Choices}}
	}
	return s.prose.Parts(v, refused...)
}

// HasButtons implements [progressive.Buttoner].
func (s *sink) HasButtons() bool { return true }

// Pings implements [progressive.Pinger].
func (s *sink) Pings() (notifies, moves bool) { return true, true }

// Resends implements [progressive.Resender]: a message whose posting had an unknown outcome is posted again with a
// mark, as bots can't ask for their own messages by nonce. It matters only when the nonce is too old to deduplicate.
func (s *sink) Resends() bool { return true }

// Marked implements [progressive.Resender]. The length limit of a rendered message leaves room for the mark.
func (s *sink) Marked(p progressive.Part) progressive.Part {
	return progressive.WithMark(p, s.prose.Say)
}

// body holds the fields of a create or an edit. Its zero value disables mentions and link previews. Its buttons are always
// sent, because an edit without the field keeps the old ones. A list of files replaces all others.
type body struct {
	Content  string     `json:"content"`
	Mentions noMentions `json:"allowed_mentions"`
	Flags    flags      `json:"flags"`
	Buttons  []row      `json:"components"`
	Files    []named    `json:"attachments,omitempty"`

	// Of a new message only.
	Nonce   string     `json:"nonce,omitempty"`
	Enforce bool       `json:"enforce_nonce,omitempty"`
	Reply   *reference `json:"message_reference,omitempty"`
}

// noMentions is the allowed_mentions of every request: an edit without it would ping everyone it mentions.
type noMentions struct{}

// MarshalJSON implements [json.Marshaler].
func (noMentions) MarshalJSON() ([]byte, error) { return []byte(`{"parse":[]}`), nil }

// flags are those of a message, besides the one that disables link previews, which would otherwise unfold even
// half-written links.
type flags int

// MarshalJSON implements [json.Marshaler].
func (f flags) MarshalJSON() ([]byte, error) { return json.Marshal(int(f) | suppressEmbeds) }

const (
	suppressEmbeds        = 1 << 2
	suppressNotifications = 1 << 12
)

// reference names the message that a new one replies to. Fail is always false: Discord then posts the message without a
// reply if the other one was deleted meanwhile.
type reference struct {
	Message string `json:"message_id"`
	Fail    bool   `json:"fail_if_not_exists"`
}

// put sends p to a path, as the body of a new message or of an edit. A part is either a file or a text: an edit with a file
// replaces the text.
func (s *sink) put(ctx context.Context, op progressive.Op, method, path string, b body, p progressive.Part, out any) error {
	b.Buttons = rows(lang.Of(ctx), p.Offer)
	var in any
	if p.File != nil {
		f := sendable(*p.File)
		b.Files = f.named()
		in = upload{b, f}
	} else {
		b.Content = cmp.Or(p.Text, p.Plain)
		in = b
	}
	return s.judgeFilter(p, s.judgeFile(p, s.do(ctx, op, method, path, in, out)))
}

// Post implements [progressive.Sink]. Discord enforces the nonce: if a message with it was posted in the last minutes,
// it returns that message instead of posting another. Only 25 characters are allowed, so it is a part of the hash of
// nonce, which is as good as unique for that time.
func (s *sink) Post(ctx context.Context, p progressive.Part, nonce string) (string, error) {
	if err := s.openThread(ctx); err != nil {
		return "", err
	}
	b, question := body{Nonce: nonceOf(nonce), Enforce: true}, s.to.Message
	if s.instead != "" {
		question = s.to.Channel // the thread has the id of its message
	}
	// In a direct message a reply would only repeat the question above the answer.
	if p.ReplyTo && s.to.Guild != "" && question != "" && !s.alone {
		b.Reply = &reference{Message: question}
	} else if p.Below != "" {
		b.Reply = &reference{Message: p.Below}
	}
	if p.Silent {
		b.Flags = suppressNotifications
	}
	var out struct {
		ID string `json:"id"`
	}
	// A success without an id can't be edited later, and it is unknown what Discord did.
	err := s.put(ctx, progressive.Post, http.MethodPost, s.path("messages"), b, p, &out)
	switch {
	case err != nil:
		s.sayLocked(ctx, nonce, err)
	case out.ID == "":
		err = fmt.Errorf("%w: the reply names no message", progressive.ErrAmbiguous)
	}
	return out.ID, err
}

// nonceOf returns a nonce of the length that Discord allows.
func nonceOf(nonce string) string {
	sum := sha256.Sum256([]byte(nonce))
	return hex.EncodeToString(sum[:12])
}

// Edit implements [progressive.Editor].
func (s *sink) Edit(ctx context.Context, id string, p progressive.Part) error {
	return s.whereShown(func() error {
		return s.put(ctx, progressive.Edit, http.MethodPatch, s.path("messages/"+id), body{}, p, nil)
	})
}

// Delete implements [progressive.Deleter].
func (s *sink) Delete(ctx context.Context, id string) error {
	return s.whereShown(func() error {
		return s.do(ctx, progressive.Delete, http.MethodDelete, s.path("messages/"+id), nil, nil)
	})
}

// Typing implements [progressive.Typer]. It returns for how long the indicator is shown.
func (s *sink) Typing(ctx context.Context) (time.Duration, error) {
	path := s.path("typing")
	if s.to.Title != "" && !s.opened {
		path = "channels/" + s.to.Parent + "/typing" // where the question was asked: the thread may not exist yet
	}
	return typingTime, s.do(ctx, progressive.Typing, http.MethodPost, path, nil, nil)
}

// Probe implements [progressive.Prober].
func (s *sink) Probe(ctx context.Context) error {
	_, err := s.Typing(ctx)
	return err
}

// NonceWindow implements [progressive.NonceKeeper].
func (s *sink) NonceWindow() time.Duration { return nonceWindow }

// path returns a path in the channel, or in the one that is used instead.
func (s *sink) path(rest string) string {
	return "channels/" + cmp.Or(s.instead, s.to.Channel) + "/" + rest
}

// do makes a request and classifies its outcome for the channel. Once the bot was refused here, it makes none: each one
// would count toward a ban of the IP address.
func (s *sink) do(ctx context.Context, op progressive.Op, method, path string, in, out any) error {
	if s.closed {
		return fmt.Errorf("%w: %w", progressive.ErrForbidden, errClosed)
	}
	err := s.client.do(ctx, method, path, in, out)
	s.report(ctx, s.to.Guild, cmp.Or(s.instead, s.to.Channel), err)
	s.learned = nil
	if w, ok := s.client.limits.window(routeOf(method, path), time.Now()); ok {
		s.learned = &progressive.BudgetHint{Scope: s.route(op), Left: w.left, After: time.Until(w.until)}
	}
	return s.judge(op, err)
}

// address is the content of [chat.Address.ConnectorData]. It is stored with runs, so its JSON names must not change.
type address struct {
	Channel string        `json:"channel"`
	Guild   string        `json:"guild,omitempty"`
	Parent  string        `json:"parent,omitempty"`  // the channel of a thread
	Title   string        `json:"title,omitempty"`   // of a thread that the answer opens from a message, with the id of that
	Message string        `json:"message,omitempty"` // the message to reply to
	Kind    chat.RoomKind `json:"kind"`
}

// encode returns the address as it is stored.
func (a address) encode() []byte {
	own, _ := json.Marshal(a) // it has only strings, which always marshal
	return own
}

// parseAddress reads a stored address. It checks all ids, because they become parts of request paths.
func parseAddress(own []byte) (a address, err error) {
	if err := json.Unmarshal(own, &a); err != nil {
		return a, fmt.Errorf("read an address: %w", err)
	}
	for _, id := range []string{a.Channel, a.Guild, a.Parent, a.Message} {
		if id != "" && snowflake(id) == 0 {
			return a, fmt.Errorf("read an address: %q is not an id", id)
		}
	}
	if a.Channel == "" {
		return a, errors.New("read an address: no channel")
	}
	return a, nil
}
