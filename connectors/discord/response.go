package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"parley/core/answer"
	"parley/core/chat"
	"parley/progressive"
)

const (
	// tokenLife is shorter than the life of an interaction's token, 15 minutes.
	tokenLife = 14 * time.Minute
	// ackTime is how long after a command its acknowledgment can still arrive.
	ackTime = 5 * time.Second
	// ackPause is the pause before the next attempt until then.
	ackPause = 300 * time.Millisecond

	unknownWebhook = 10015 // the interaction was not acknowledged
)

// response posts the answer to a command. Its first message is the response that Discord shows in place of "is thinking".
// To edit it can be repeated, so it is exactly once. The next messages are ordinary ones, whose nonces prevent
// duplicates, if the bot can write in the channel and everyone sees the answer; otherwise follow-ups, which have no nonce and
// are never repeated. When the token is no longer valid, the answer continues in ordinary messages; one that only the
// author of the command may see ends.
type response struct {
	chat *sink
	acks *acks
	to   reply
	lost bool // Discord doesn't know the token (any more)
	told bool // the answer is only the reason why there is none, for the author of the command alone

	unknown map[string]bool // the nonces of follow-ups whose outcome is unknown
}

var (
	_ progressive.Sink           = (*response)(nil)
	_ progressive.Editor         = (*response)(nil)
	_ progressive.Deleter        = (*response)(nil)
	_ progressive.NonceKeeper    = (*response)(nil)
	_ progressive.BudgetReporter = (*response)(nil)
)

func newResponse(s *sink, a *acks, own []byte) (progressive.Sink, error) {
	to, err := parseReply(own)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", chat.ErrUnreached, err)
	}
	s.to.Message = "" // a command is not a message that can be replied to
	return &response{chat: s, acks: a, to: to, unknown: map[string]bool{}}, nil
}

// valid reports whether the token can still be used.
func (r *response) valid() bool {
	return !r.lost && time.Since(created(r.to.Interaction)) < tokenLife
}

// Scopes implements [progressive.Sink]. Requests with the token have rate limits of their own. A post can also be an ordinary message.
func (r *response) Scopes(op progressive.Op) (all []progressive.Scope) {
	if r.valid() {
		_ = r.withToken(func() error { all = r.chat.Scopes(op); return nil })
	}
	if !r.valid() || op == progressive.Post && !r.to.Private && !r.to.Silent {
		all = append(all, r.chat.Scopes(op)...)
	}
	return all
}

// withToken makes a request that Discord counts for the interaction, and judges its error.
func (r *response) withToken(request func() error) error {
	r.chat.interaction = r.to.Interaction
	defer func() { r.chat.interaction = "" }()
	return r.judge(request())
}

// BudgetHint implements [progressive.BudgetReporter].
func (r *response) BudgetHint() (progressive.BudgetHint, bool) { return r.chat.BudgetHint() }

// NonceWindow implements [progressive.NonceKeeper].
func (r *response) NonceWindow() time.Duration { return nonceWindow }

// HasButtons implements [progressive.Buttoner].
func (r *response) HasButtons() bool { return true }

// Pings implements [progressive.Pinger]. The response shows which command it answers, so it stays where it is.
func (r *response) Pings() (notifies, moves bool) { return !r.to.Private && !r.to.Silent, false }

// Render implements [progressive.Sink]. The final state has a text in any case, because Discord shows that the bot is
// thinking until there is one: without an answer, the reason.
func (r *response) Render(v answer.View, refused ...string) []progressive.Part {
	if why := v.Outcome.Reason; v.Outcome.Done() && why != "" && v.Text() == "" && len(v.Files()) == 0 {
		r.told = true
		return []progressive.Part{{Text: why, Plain: why}}
	}
	parts := r.chat.Render(v, refused...)
	if !v.Outcome.Done() || len(parts) > 0 && parts[0].File == nil {
		return parts
	}
	text := "*" + r.chat.prose.Say("turn.stopped") + "*"
	if len(parts) > 0 {
		text = r.chat.prose.Say("message.files")
	}
	return append([]progressive.Part{{Text: text, Plain: text, Offer: v.Choices}}, parts...)
}

// Post implements [progressive.Sink].
func (r *response) Post(ctx context.Context, p progressive.Part, nonce string) (string, error) {
	switch {
	case !r.valid() && r.to.Private:
		return "", fmt.Errorf("%w: the response to a command has expired", progressive.ErrForbidden)
	case !r.valid():
		return r.chat.Post(ctx, p, nonce)
	case strings.HasSuffix(nonce, "/0"):
		return r.first(ctx, p)
	case !r.to.Private && !r.to.Silent:
		return r.chat.Post(ctx, p, nonce)
	}
	return r.follow(ctx, p, nonce)
}

// first sets the text of the response.
func (r *response) first(ctx context.Context, p progressive.Part) (string, error) {
	r.acks.wait(ctx, r.to.Interaction)
	if r.told && !r.to.Private {
		return r.tell(ctx, p)
	}
	var out struct {
		ID string `json:"id"`
	}
	err := r.put(ctx, progressive.Post, http.MethodPatch, "/messages/@original", body{}, p, &out)
	if err == nil && out.ID == "" {
		err = fmt.Errorf("%w: the reply names no message", progressive.ErrAmbiguous)
	}
	return out.ID, err
}

// tell ends the bot's thinking, which all users see, and posts p for the author of the command alone.
func (r *response) tell(ctx context.Context, p progressive.Part) (string, error) {
	if err := r.Delete(ctx, "@original"); err != nil {
		return "", err
	}
	return r.follow(ctx, p, "refusal")
}

// follow posts a follow-up, at most once: if it is unknown whether it was posted, it counts as posted.
func (r *response) follow(ctx context.Context, p progressive.Part, nonce string) (string, error) {
	if r.unknown[nonce] {
		return lostMessage, nil
	}
	b := body{}
	if r.to.Private || r.told {
		b.Flags = ephemeral
	}
	var out struct {
		ID string `json:"id"`
	}
	err := r.put(ctx, progressive.Post, http.MethodPost, "?wait=true", b, p, &out)
	if errors.Is(err, progressive.ErrAmbiguous) {
		r.unknown[nonce] = true
	}
	return out.ID, err
}

// lostMessage stands for the id of a message that may exist.
const lostMessage = "unknown"

// Edit implements [progressive.Editor].
func (r *response) Edit(ctx context.Context, id string, p progressive.Part) error {
	switch {
	case id == lostMessage:
		return nil
	case r.valid():
		return r.put(ctx, progressive.Edit, http.MethodPatch, "/messages/"+id, body{}, p, nil)
	case r.to.Private:
		return fmt.Errorf("%w: the response to a command has expired", progressive.ErrForbidden)
	}
	return r.chat.Edit(ctx, id, p)
}

// Delete implements [progressive.Deleter].
func (r *response) Delete(ctx context.Context, id string) error {
	switch {
	case id == lostMessage, r.to.Private && !r.valid():
		return nil
	case r.valid():
		path := r.to.path("/messages/" + id)
		return r.withToken(func() error { return r.chat.do(ctx, progressive.Delete, http.MethodDelete, path, nil, nil) })
	}
	return r.chat.Delete(ctx, id)
}

// put sends p to a path of the interaction's webhook.
func (r *response) put(ctx context.Context, op progressive.Op, method, path string, b body, p progressive.Part, out any) error {
	return r.withToken(func() error { return r.chat.put(ctx, op, method, r.to.path(path), b, p, out) })
}

// judge handles the refusals that only interactions have. Before the acknowledgment has reached Discord, the token is
// unknown there, so the request is repeated soon.
func (r *response) judge(err error) error {
	var said *refusal
	if !errors.As(err, &said) || said.code != unknownWebhook && said.code != expiredToken {
		return err
	}
	r.chat.closed = false
	if said.code == unknownWebhook && time.Since(created(r.to.Interaction)) < ackTime {
		return progressive.RetryAfter{Scope: r.chat.scope(held{}), After: ackPause, Err: said}
	}
	r.lost = true
	return fmt.Errorf("%w: %w", progressive.ErrUnsent, said)
}
