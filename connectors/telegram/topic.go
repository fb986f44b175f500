package telegram

import "context"

// deletedTopic is what a sink knows about the deletion of its topic. In a private chat, the answer then continues in the chat without the
// topic, where the same person reads it.
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
