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
type shown struct {
	state    state
	id       string     // of a message that is there
	part     Part       // what was asked last
	sure     bool       // and it is what the reader sees
	intent   chat.Shown // of an unknown one: what the journal holds of the request
	marked   bool       // part was asked with the mark of a repetition
	after    time.Time  // it is not repeated before
	whole    bool       // of an unknown one without a hash: it counts as the last word
	until    time.Time  // the nonce is good until then; zero without nonces
	refused  string     // the text that the platform can't read: it is sent plain
	redo     bool       // taken back with all messages below it, and reposted
	hopeless bool       // the platform accepts neither its text nor a new message: a line reports that it is missing
	tried    bool       // a create was refused though it was plain
	stuck    bool       // it can't be deleted either
	again    bool       // it was sent again once, after the user had removed it

	// Of files:
	stale  bool      // it belongs to an earlier answer of the run
	untold bool      // its content is unknown
	unfit  *llm.File // the platform does not take it: there are words instead
	posts  int       // how often another was posted in its place
}

// state is what we know of a part's message.
type state uint8

const (
	absent  state = iota // certainly not there
	unknown              // requested, with an unknown outcome
	there
	gone // removed, or not to be changed any more: the text goes into a new message
	left // nothing more is done about it
)

// step is one request that brings what is shown nearer to what is wanted.
type step struct {
	op     Op
	i      int // of the part
	part   Part
	marked bool       // it carries the mark of a repetition, too
	after  time.Time  // not before
	intent chat.Shown // of a post: what the journal holds before it is made
}

// carried reports whether the create request of unknown outcome carried p.
func (h shown) carried(p Part) bool {
	if h.intent.Sent == "" {
		return h.whole
	}
	return h.intent.Sent == hash(p)
}

// repeated reports whether p was sent, or is about to be sent, more than once, so that it needs a mark.
func (h shown) repeated(p Part) bool { return h.intent.Tries > 1 && h.intent.Sent == hash(p) }

// ask stands for a part that is not wanted: it is posted with its old nonce, to learn the message's id and delete it.
var ask = Part{Plain: "…"}

// plan returns the first step that turns have into want: parts in order, then what is left over, from the end. ok is false
// when nothing is to be done. With resend, a part that a request of unknown outcome carried is posted once more, marked,
// where no nonce tells whether it is there.
func plan(have []shown, want []Part, now time.Time, resend bool) (s step, ok bool) {
	for i, p := range want {
		if i >= len(have) {
			return step{op: Post, i: i, part: p}, true
		}
		h := have[i]
		if h.hopeless {
			p = Part{Plain: Missing, ReplyTo: p.ReplyTo}
		}
		if p.Text == h.refused {
			p.Text = ""
		}
		switch h.state {
		case absent:
			return step{op: Post, i: i, part: p}, true
		case unknown:
			if now.Before(h.until) || !h.carried(p) {
				return step{op: Post, i: i, part: p, marked: h.repeated(p)}, true
			}
			if resend && h.intent.Sent != "" && h.intent.Tries < mostTries {
				return step{op: Post, i: i, part: p, marked: true, after: h.after}, true
			}
		case there:
			if h.redo {
				return takeBack(have, i, now)
			}
			if marked := h.repeated(p); !h.sure || !h.part.says(p) || h.marked != marked {
				return step{op: Edit, i: i, part: p, marked: marked}, true
			}
		case gone:
			if !h.again && !h.part.same(p) && last(have, i) {
				return step{op: Post, i: i, part: p}, true
			}
		}
	}
	return takeBack(have, len(want), now)
}

// takeBack is the first step that takes away what stands from part n on, from the end.
func takeBack(have []shown, n int, now time.Time) (s step, ok bool) {
	for i := len(have) - 1; i >= n; i-- {
		switch h := have[i]; {
		case h.state == there:
			return step{op: Delete, i: i}, true
		case h.state == unknown && now.Before(h.until):
			return step{op: Post, i: i, part: ask}, true
		}
	}
	return step{}, false
}

// last reports whether no message of the answer exists below i.
func last(have []shown, i int) bool {
	for _, h := range have[i+1:] {
		if h.state == there || h.state == unknown {
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
		io.WriteString(h, p.reads())
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// same tells whether a reader of p has read o, whatever their markup.
func (p Part) same(o Part) bool {
	return p.says(o) || p.offers(o) && p.Plain != "" && p.Plain == o.Plain
}

// says tells whether a message that was made to say p says o.
func (p Part) says(o Part) bool {
	if p.Text == "" && o.Text == "" {
		return p.offers(o) && p.Plain == o.Plain
	}
	return p.offers(o) && p.Text == o.Text
}

// offers tells whether p has the buttons of o.
func (p Part) offers(o Part) bool {
	if p.Offer == nil || o.Offer == nil {
		return p.Offer == o.Offer
	}
	return p.Offer.ID == o.Offer.ID
}
