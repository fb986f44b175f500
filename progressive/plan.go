package progressive

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"parley/core/chat"
	"parley/core/llm"
)

// shown is one part of the answer as we last had word of it.
type partState struct {
	state       messageState
	id          string     // of a message that is there
	sent        Part       // what was asked last
	confirmed   bool       // and it is what the reader sees
	intent      chat.Shown // of an unknown one: what the journal holds of the request
	marked      bool       // part was asked with the mark of a repetition
	resendAt    time.Time  // it is not repeated before
	assumeFinal bool       // of an unknown one without a hash: it counts as the last word
	nonceUntil  time.Time  // the nonce is good until then; zero without nonces
	refusedText string     // the text that the platform can't read: it is sent plain
	replacing   bool       // taken back with all messages below it, and reposted
	unpostable  bool       // the platform accepts neither its text nor a new message: a line reports that it is missing
	retried     bool       // a create was refused though it was plain
	undeletable bool       // it can't be deleted either
	reposted    bool       // it was sent again once, after the user had removed it

	// Of files:
	stale          bool      // it belongs to an earlier answer of the run
	contentUnknown bool      // its content is unknown
	refusedFile    *llm.File // the platform does not take it: there are words instead
	replacements   int       // how often another was posted in its place
}

// state is what we know of a part's message.
type messageState uint8

const (
	absent  messageState = iota // certainly not there
	unknown                     // requested, with an unknown outcome
	posted
	gone      // removed, or not to be changed any more: the text goes into a new message
	abandoned // nothing more is done about it
)

// step is one request that brings what is shown nearer to what is wanted.
type step struct {
	op        Op
	index     int // of the part
	part      Part
	marked    bool       // it carries the mark of a repetition, too
	notBefore time.Time  // not before
	intent    chat.Shown // of a post: what the journal holds before it is made
}

// carried reports whether the create request of unknown outcome carried p.
func (h partState) mayHaveSent(p Part) bool {
	if h.intent.Sent == "" {
		return h.assumeFinal
	}
	return h.intent.Sent == hash(p)
}

// repeated reports whether p was sent, or is about to be sent, more than once, so that it needs a mark.
func (h partState) repeated(p Part) bool { return h.intent.Tries > 1 && h.intent.Sent == hash(p) }

// ask stands for a part that is not wanted: it is posted with its old nonce, to learn the message's id and delete it.
var probe = Part{Plain: "…"}

// plan returns the first step that turns have into want: parts in order, then what is left over, from the end. ok is false
// when nothing is to be done. With resend, a part that a request of unknown outcome carried is posted once more, marked,
// where no nonce tells whether it is there.
func plan(have []partState, want []Part, now time.Time, resend bool) (s step, ok bool) {
	for i, p := range want {
		if i >= len(have) {
			return step{op: Post, index: i, part: p}, true
		}
		h := have[i]
		if h.unpostable {
			p = Part{Plain: Missing, ReplyTo: p.ReplyTo}
		}
		if p.Text == h.refusedText {
			p.Text = ""
		}
		switch h.state {
		case absent:
			return step{op: Post, index: i, part: p}, true
		case unknown:
			if now.Before(h.nonceUntil) || !h.mayHaveSent(p) {
				return step{op: Post, index: i, part: p, marked: h.repeated(p)}, true
			}
			if resend && h.intent.Sent != "" && h.intent.Tries < mostTries {
				return step{op: Post, index: i, part: p, marked: true, notBefore: h.resendAt}, true
			}
		case posted:
			if h.replacing {
				return deleteFrom(have, i, now)
			}
			if marked := h.repeated(p); !h.confirmed || !h.sent.sameContent(p) || h.marked != marked {
				return step{op: Edit, index: i, part: p, marked: marked}, true
			}
		case gone:
			if !h.reposted && !h.sent.readsLike(p) && isLast(have, i) {
				return step{op: Post, index: i, part: p}, true
			}
		}
	}
	return deleteFrom(have, len(want), now)
}

// takeBack is the first step that takes away what stands from part n on, from the end.
func deleteFrom(have []partState, n int, now time.Time) (s step, ok bool) {
	for i := len(have) - 1; i >= n; i-- {
		switch h := have[i]; {
		case h.state == posted:
			return step{op: Delete, index: i}, true
		case h.state == unknown && now.Before(h.nonceUntil):
			return step{op: Post, index: i, part: probe}, true
		}
	}
	return step{}, false
}

// last reports whether no message of the answer exists below i.
func isLast(have []partState, i int) bool {
	for _, h := range have[i+1:] {
		if h.state == posted || h.state == unknown {
			return false
		}
	}
	return true
}

// hash identifies what a reader sees of p, whatever its markup and buttons.
func hash(p Part) string {
	h := sha256.New()
	if p.File != nil {
		fmt.Fprintf(h, "%q %q ", p.File.Name, p.File.Type)
		h.Write(p.File.Data)
	} else {
		io.WriteString(h, p.readable())
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// same tells whether a reader of p has read o, whatever their markup.
func (p Part) readsLike(o Part) bool {
	return p.sameContent(o) || p.sameButtons(o) && p.Plain != "" && p.Plain == o.Plain
}

// says tells whether a message that was made to say p says o.
func (p Part) sameContent(o Part) bool {
	if p.Text == "" && o.Text == "" {
		return p.sameButtons(o) && p.Plain == o.Plain
	}
	return p.sameButtons(o) && p.Text == o.Text
}

// offers tells whether p has the buttons of o.
func (p Part) sameButtons(o Part) bool {
	if p.Offer == nil || o.Offer == nil {
		return p.Offer == o.Offer
	}
	return p.Offer.ID == o.Offer.ID
}
