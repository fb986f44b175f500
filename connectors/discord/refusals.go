package discord

import (
	"errors"
	"fmt"
	"net/http"

	"parley/progressive"
)

// Discord's error codes, from its reference ("JSON error codes").
const (
	unknownChannel = 10003
	unknownMessage = 10008
	invalidForm    = 50035
	threadArchived = 50083
	threadExists   = 160004
	threadLocked   = 160005
	noReplyRight   = 160002
	autoModeration = 200000
	harmfulLink    = 240000
)

// filters maps the codes of content filters to the key of the text that users read instead.
var filters = map[int]string{
	autoModeration: "message.moderated",
	harmfulLink:    "message.link_blocked",
}

// judge classifies a request's error for the conversation, in the terms of package progressive: RetryAfter and
// ErrUnsent mean that the request had no effect and can be repeated, ErrAmbiguous that its outcome is unknown, ErrGone
// that the message no longer exists, ErrStale that it can't be edited any more, ErrForbidden that no request will
// succeed.
//
// A permanent refusal is not retried, with the same text or another: the model's next words would hit the same filter,
// and too many refusals (Discord counts 401, 403 and 429) ban the IP address for a while.
func (s *sink) judge(op progressive.Op, err error) error {
	var h held
	var r *refusal
	// The order matters: an error can be several of these, and the certain ones come first.
	switch {
	case err == nil:
		return nil
	case errors.As(err, &h):
		return progressive.RetryAfter{Scope: s.scope(h), After: h.after, Err: h}
	case errors.Is(err, errRevoked):
		return fmt.Errorf("%w: %w", progressive.ErrForbidden, err)
	case errors.Is(err, errUnsent):
		return fmt.Errorf("%w: %w", progressive.ErrUnsent, err)
	case !errors.As(err, &r):
		return fmt.Errorf("%w: %w", progressive.ErrAmbiguous, err)
	case r.status == http.StatusForbidden:
		s.closed = true
	}
	switch {
	case op == progressive.Delete && r.code == unknownMessage:
		return nil
	case op == progressive.Post && !s.alone && (r.code == noReplyRight || r.code == invalidForm):
		// The message that this one replies to may be deleted or invisible to the bot: the next attempt is made without
		// the reply.
		s.alone = true
		return fmt.Errorf("%w: %w", progressive.ErrUnsent, r)
	// For a post this means that the nonce matched an earlier attempt's message, which a user has deleted.
	case r.code == unknownMessage:
		return fmt.Errorf("%w: %w", progressive.ErrGone, r)
	case op == progressive.Edit && (r.code == threadArchived || r.code == editLimit): // a new message reopens the thread
		return fmt.Errorf("%w: %w", progressive.ErrStale, r)
	}
	return fmt.Errorf("%w: %w", progressive.ErrForbidden, r)
}

// judgeFilter handles a text that a content filter refuses: from then on one sentence replaces the answer, because its
// next words would hit the same filter. ErrUnparsable makes the caller render again, which yields that sentence. If the
// filter refuses that sentence too, the conversation is closed.
func (s *sink) judgeFilter(p progressive.Part, err error) error {
	var r *refusal
	if p.File != nil || s.blocked != "" || !errors.As(err, &r) || filters[r.code] == "" {
		return err
	}
	s.blocked = s.prose.Say(filters[r.code])
	s.log.Error("AutoMod blocked an answer; the user was told. The server's moderators can exempt the bot's role",
		"channel", s.to.Channel, "err", r)
	return fmt.Errorf("%w: %w", progressive.ErrUnparsable, r)
}

// scope returns the budget that a rate limit closes: that of the bot, or that of the channel or the interaction.
func (s *sink) scope(h held) progressive.Scope {
	scopes := s.Scopes(progressive.Post)
	if h.everything && s.interaction == "" {
		return scopes[len(scopes)-1]
	}
	return scopes[0]
}
