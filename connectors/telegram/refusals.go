package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"parley/progressive"
)

// judge classifies a failed request in the terms of package progressive: RetryAfter and ErrUnsent mean that it had no
// effect and can be repeated, ErrAmbiguous that its outcome is unknown, ErrGone that the message no longer exists,
// ErrStale that it can't be edited any more, ErrForbidden that no request will succeed. An error that is none of these
// is a definite failure of this request.
func (s *sink) judge(op progressive.Op, chat int64, err error) error {
	var r *refusal
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errRevoked):
		return fmt.Errorf("%w: %w", progressive.ErrForbidden, err)
	case errors.Is(err, errUnsent):
		return fmt.Errorf("%w: %w", progressive.ErrUnsent, err)
	case !errors.As(err, &r), r.code >= http.StatusInternalServerError:
		return fmt.Errorf("%w: %w", progressive.ErrAmbiguous, err)
	case r.code == http.StatusTooManyRequests:
		return progressive.RetryAfter{After: max(r.after, leastWait), Err: r} // a proxy may omit the time
	case r.code == http.StatusRequestTimeout: // the request did not arrive
		return fmt.Errorf("%w: %w", progressive.ErrUnsent, r)
	case r.code == http.StatusForbidden:
		return fmt.Errorf("%w: %w", progressive.ErrForbidden, r)
	// The message stays in the old group, where it can't be edited. A post is repeated under the new id by its caller.
	case r.migrated != 0 && op != progressive.Post:
		s.move(chat, r.migrated)
		return fmt.Errorf("%w: %w", progressive.ErrStale, r)
	case r.code != http.StatusBadRequest:
		return r
	}
	return s.judgeBad(op, r)
}

// judgeText is judge for a request with p. A refusal of rich messages is remembered: the next attempt is HTML. Telegram documents its
// errors as RICH_MESSAGE_…; an older server has no such method, finds no text, or can't read the blocks.
func (s *sink) judgeText(op progressive.Op, p progressive.Part, chat int64, err error) error {
	var r *refusal
	if isRich(p) && err == nil {
		s.refusals = 0
	}
	if !isRich(p) || !errors.As(err, &r) {
		return s.judge(op, chat, err)
	}
	switch {
	case r.code == http.StatusNotFound:
		s.telegram.unrich.add(everywhere)
	case r.code == http.StatusBadRequest && r.says("rich_message_", "can't parse", "message text is empty"):
		s.telegram.unrich.add(s.to.Chat)
	default:
		if err = s.judge(op, chat, err); err != error(r) || op == progressive.Draft || !s.refusedRich(op) {
			return err
		}
	}
	s.telegram.log.Warn("rich messages are refused; answers are sent as HTML instead", "err", err)
	return fmt.Errorf("%w: %w", progressive.ErrUnsent, err)
}

// mostRefusals is how many edits of a growing rich answer in a row can be refused for a reason that isn't documented.
const mostRefusals = 3

// refusedRich counts a refusal of a rich message for an unknown reason, and reports whether this answer is HTML from now on: what ends it, and
// each new message, must be there. The chat keeps rich messages, as only this text may be the reason.
func (s *sink) refusedRich(op progressive.Op) bool {
	if s.refusals++; op == progressive.Edit && !s.ended && s.refusals < mostRefusals {
		return false
	}
	s.rich = nil
	return true
}

// judgeBad classifies a 400 by its description, because the Bot API has no error codes. The words are those of the
// server's source and of answers seen in practice. An unknown description is a definite failure: the request had no
// effect.
func (s *sink) judgeBad(op progressive.Op, r *refusal) error {
	switch {
	case op == progressive.Edit && r.says("message is not modified"):
		// The message already has this content, for example because an earlier edit had an unknown outcome.
		return nil
	case r.says("can't parse entities"):
		return fmt.Errorf("%w: %w", progressive.ErrUnparsable, r) // the formatting can't be parsed
	case op == progressive.Post && !r.says("can't parse entities") && s.whisper.next():
		// The next attempt is sent in another way, so it is a different request.
		return fmt.Errorf("%w: %w", progressive.ErrUnsent, r)
	// A Bot API server before 10.3 has no disabled buttons, and an edit removes the keyboard instead.
	case r.says("inline keyboard button") && s.telegram.older.CompareAndSwap(false, true):
		return fmt.Errorf("%w: %w", progressive.ErrUnsent, r)
	case r.says("message to be replied not found", "message to reply not found"):
		s.alone = true
		// The next attempt has no reply, so it is a different request.
		return fmt.Errorf("%w: %w", progressive.ErrUnsent, r)
	case r.says("message thread not found", "topic_closed", "topic_deleted", "topic_id_invalid"):
		if s.leaveTopic() {
			// The next attempt names no topic, so it is a different request.
			return fmt.Errorf("%w: %w", progressive.ErrUnsent, r)
		}
		return fmt.Errorf("%w: %w", progressive.ErrForbidden, r)
	case r.says("chat not found",
		"peer_id_invalid", "chat_id_invalid", "user_is_blocked", "deactivated", "not enough rights", "have no rights",
		"need administrator rights", "chat_write_forbidden", "chat_restricted", "chat_admin_required", "was kicked"):
		return fmt.Errorf("%w: %w", progressive.ErrForbidden, r)
	case op == progressive.Edit && r.says("can't be edited"):
		return fmt.Errorf("%w: %w", progressive.ErrStale, r)
	case op != progressive.Post && op != progressive.Draft && r.says("not found", "can't be deleted", "message_id_invalid"):
		return fmt.Errorf("%w: %w", progressive.ErrGone, r) // the message is gone
	}
	return r
}

// migrated returns the chat's new id from err, or 0.
func migrated(err error) int64 {
	if r := (*refusal)(nil); errors.As(err, &r) {
		return r.migrated
	}
	return 0
}

// deletedTopic is the sink's state about the deletion of its topic. In a private chat, the answer then continues in the
// chat without the topic, where the same person reads it.
type deletedTopic struct {
	known   bool
	outside int // the first message posted since; 0 if there is none
}

// posted records a new message.
func (d *deletedTopic) posted(message int) {
	if d.known && d.outside == 0 {
		d.outside = message
	}
}

// had reports whether a message was in the topic, and so was deleted with it.
func (d *deletedTopic) had(message int) bool {
	return d.known && (d.outside == 0 || message < d.outside)
}

// leaveTopic makes later requests name no topic, and reports whether that changes them.
func (s *sink) leaveTopic() bool {
	if s.to.Kind != private || s.to.Topic == 0 || s.topic.known {
		return false
	}
	s.topic.known = true
	return true
}

// goneWithTopic reports whether a message that is gone was deleted together with its topic, and not by itself: to delete the answer is to
// end it. The server tells only by refusing to write into the topic, so this shows the typing indicator there.
func (s *sink) goneWithTopic(ctx context.Context, message int) bool {
	if s.to.Kind == private && s.to.Topic != 0 && !s.topic.known {
		// leaveTopic takes note of a refusal. Other errors don't tell.
		_ = s.showTyping(ctx)
	}
	return s.topic.had(message)
}
