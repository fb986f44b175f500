package discord

import (
	"errors"
	"fmt"
	"net/http"

	"parley/progressive"
)

// Discord's error codes, as in its reference ("JSON error codes").
const (
	unknownMessage = 10008
	invalidForm    = 50035
	threadArchived = 50083
	noReplyRight   = 160002
	autoModeration = 200000
	harmfulLink    = 240000
)

// filters are the refusals of what a text says, with what people read in its place.
var filters = map[int]string{
	autoModeration: "This server's AutoMod blocked my answer. Ask a moderator to exempt me, or rephrase your question.",
	harmfulLink:    "Discord blocked a link in my answer. Ask me again without links.",
}

// judge says what an error of client means for a conversation. What Discord refuses for good is not asked again, with
// the same text or another: the model's next words would meet the same filter, and too many refusals ban the address
// (DR-04, DR-27).
func (s *sink) judge(op progressive.Op, err error) error {
	var h held
	var r *refusal
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
		s.alone = true // what we reply to may be out of reach: it is tried once more, without
		return fmt.Errorf("%w: %w", progressive.ErrUnsent, r)
	case r.code == unknownMessage: // of a create: its nonce is known, and people removed the message
		return fmt.Errorf("%w: %w", progressive.ErrGone, r)
	case op == progressive.Edit && (r.code == threadArchived || r.code == editLimit): // a new message opens the thread
		return fmt.Errorf("%w: %w", progressive.ErrStale, r)
	}
	return fmt.Errorf("%w: %w", progressive.ErrForbidden, r)
}

// judgeFilter makes a text that a filter refuses one that is not taken as it is: from then on one sentence stands for the
// answer, because its next words would meet the same filter (DR-27). A filter that refuses that too closes the conversation.
func (s *sink) judgeFilter(p progressive.Part, err error) error {
	var r *refusal
	if p.File != nil || s.blocked != "" || !errors.As(err, &r) || filters[r.code] == "" {
		return err
	}
	s.blocked = filters[r.code]
	s.log.Error("AutoMod blocked an answer; the user was told. The server's moderators can exempt the bot's role",
		"channel", s.to.Channel, "err", r)
	return fmt.Errorf("%w: %w", progressive.ErrUnparsable, r)
}

// scope is the budget that a hold closes.
func (s *sink) scope(h held) progressive.Scope {
	scopes := s.Scopes(progressive.Post)
	if h.everything {
		return scopes[len(scopes)-1]
	}
	return scopes[0]
}
