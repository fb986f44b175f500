package progressive

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"parley/core/chat"
	"parley/core/llm"
)

// partState is the last known state of one message of the answer. The truth may differ: a user may have deleted the
// message meanwhile, and the outcome of a request can be unknown.
type partState struct {
	state       messageState
	id          string     // the platform's id, if the message is posted
	sent        Part       // the content of the last request
	confirmed   bool       // the platform has confirmed that the message has this content
	intent      chat.Shown // the journal's record of a create request whose outcome is unknown
	marked      bool       // it was sent with a line that marks it as a repetition
	lostAt      time.Time  // when the outcome of a create request became unknown; zero if that was in an earlier process
	assumeFinal bool       // a record of an older version lacks the content: assume the final text
	nonceUntil  time.Time  // the platform recognizes a repeated nonce until then; zero if it has none
	refusedText string     // text whose markup the platform refused: it is sent without markup
	replacing   bool       // it can't be edited: it is deleted with all messages below it, and posted again
	missing     string     // the line in place of a text that the platform refuses in every form; empty if it does not
	retried     bool       // a create request without markup was refused, and is repeated once
	after       string     // the id of the earlier message of the answer, which it replaces: it notifies the asker
	undeletable bool       // it can be neither edited nor deleted, or an earlier process may have deleted it
	reposted    bool       // it was posted again after a user had deleted it; that is done once

	// For files, and stale also for a pointer:
	stale          bool      // it belongs to an earlier answer of the run, and is deleted
	contentUnknown bool      // another process posted it, and its bytes are not stored
	refusedFile    *llm.File // the platform refused this file: a line is shown instead
	replacements   int       // how often the message was deleted and posted again; part of its nonce
}

// mayHaveSent reports whether the create request with an unknown outcome had the content p.
func (h partState) mayHaveSent(p Part) bool {
	if h.intent.Sent == "" {
		return h.assumeFinal
	}
	return h.intent.Sent == hash(p)
}

// repeated reports whether p was sent more than once, or will be, so that it may appear twice and needs a mark.
func (h partState) repeated(p Part) bool { return h.intent.Tries > 1 && h.intent.Sent == hash(p) }

// mayRepeat reports whether a create request with an unknown outcome can be repeated: once, and within a day.
func (h partState) mayRepeat(now time.Time) bool {
	return h.intent.Sent != "" && h.intent.Tries < mostTries && (h.intent.At.IsZero() || now.Before(h.intent.At.Add(giveUpAfter)))
}

// messageState is the known state of a part's message on the platform.
type messageState uint8

const (
	absent  messageState = iota // it does not exist
	drafted                     // it does not exist, and its text is visible as a draft; see [Drafter]
	unknown                     // a create request was sent, and its outcome is unknown
	posted
	gone      // it was deleted, or can no longer be edited: its text goes into a new message
	abandoned // no more requests are made for it
)

// step is one request that brings the chat closer to the wanted messages.
type step struct {
	op        Op
	index     int // the number of the part, see [Message.partAt]
	part      Part
	marked    bool       // it is sent with a line that marks it as a repetition
	guess     string     // of an Edit: the id that the message may have; see adoption
	moves     bool       // of a Post: it replaces the first message, see [pings.nextMove]
	silent    bool       // of a Post: it notifies no one
	repeats   bool       // the same create request had an unknown outcome: it waits until the platform works again
	notBefore time.Time  // the earliest time of the request; zero means now
	intent    chat.Shown // of a Post: the journal's record, written before the request
}

// probe is posted in place of a part that is no longer wanted and may exist. The platform answers the old nonce with the
// id of the existing message, or creates this one; either can then be deleted.
var probe = Part{Plain: "…"}

// plan returns the first request that turns the messages have into want: missing and outdated messages in order, then the
// deletion of surplus ones, from the end. ok is false if nothing has to be done, or nothing can be done.
//
// A message whose create request has an unknown outcome is requested again while the platform recognizes its nonce, or if
// the request had another content, which is then certainly not shown. Otherwise it may already be visible: with resend it
// is posted once more within a day, marked as a repetition; without, it counts as shown.
func plan(have []partState, want []Part, now time.Time, resend bool) (s step, ok bool) {
	for i, p := range want {
		if i >= len(have) {
			return step{op: Post, index: i, part: p}, true
		}
		h := have[i]
		if h.missing != "" {
			p = Part{Plain: h.missing, ReplyTo: p.ReplyTo}
		}
		if p.Text == h.refusedText {
			p.Text = ""
		}
		switch h.state {
		case absent, drafted:
			return step{op: Post, index: i, part: p}, true
		case unknown:
			if now.Before(h.nonceUntil) || !h.mayHaveSent(p) {
				return step{op: Post, index: i, part: p, marked: h.repeated(p)}, true
			}
			if resend && h.mayRepeat(now) {
				return step{op: Post, index: i, part: p, marked: true, repeats: true}, true
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

// deleteFrom returns the request that deletes the last existing message, down to message n. From the end, because an
// answer whose beginning is missing would be confusing.
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

// isLast reports whether no message of the answer exists below message i. A new message would appear below them all, so
// only the last one can be replaced.
func isLast(have []partState, i int) bool {
	for _, h := range have[i+1:] {
		if h.state == posted || h.state == unknown {
			return false
		}
	}
	return true
}

// hash identifies the visible content of p, without markup and buttons. The journal stores it instead of the text, to
// compare requests across processes.
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

// readsLike reports whether p and o look the same, perhaps with different markup. The buttons of commands don't count: they are no reason
// for a new message.
func (p Part) readsLike(o Part) bool {
	p, o = p.withoutCommand(), o.withoutCommand()
	return p.sameContent(o) || p.sameButtons(o) && p.Plain != "" && p.Plain == o.Plain
}

// withoutCommand returns p without the button of a command, see [chat.Button]. The options of a question stay.
func (p Part) withoutCommand() Part {
	if p.Offer != nil {
		if _, _, ok := chat.ButtonOf(p.Offer.ID); ok {
			p.Offer = nil
		}
	}
	return p
}

// sameContent reports whether a message with the content p needs no edit to have the content o.
func (p Part) sameContent(o Part) bool {
	if p.Text == "" && o.Text == "" {
		return p.sameButtons(o) && p.Plain == o.Plain
	}
	return p.sameButtons(o) && p.Text == o.Text
}

// sameButtons reports whether p and o have the same buttons.
func (p Part) sameButtons(o Part) bool {
	if p.Offer == nil || o.Offer == nil {
		return p.Offer == o.Offer
	}
	return p.Offer.ID == o.Offer.ID && p.Offer.Chosen == o.Offer.Chosen
}

// readable returns the visible text of p, without markup.
func (p Part) readable() string {
	if p.Plain != "" {
		return p.Plain
	}
	return p.Text
}

// length returns the number of runes of the answer in parts, without lines about calls.
func length(parts []Part) (n int) {
	for _, p := range parts {
		n += utf8.RuneCountInString(p.readable()) - p.StatusRunes
	}
	return n
}

// visible returns the number of characters (grapheme clusters) of s, from its first to its last visible one. It stops
// counting at enough, because it is called for each change of a growing text.
func visible(s string, enough int) (n int) {
	all, state := 0, -1
	for s != "" && n < enough {
		var c string
		c, s, _, state = uniseg.FirstGraphemeClusterInString(s, state)
		if shows(c) {
			n = all + 1
		}
		if n > 0 {
			all++
		}
	}
	return n
}

// shows reports whether the cluster c is visible.
func shows(c string) bool {
	for _, r := range c {
		if unicode.IsGraphic(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.M, r) && !filler(r) {
			return true
		}
	}
	return false
}

// filler reports whether r is one of the letters and symbols that fonts draw as nothing. Platforms count a message of them
// as empty and refuse it.
func filler(r rune) bool {
	switch r {
	case '\u115F', '\u1160', '\u3164', '\uFFA0', '\u2800':
		return true
	}
	return false
}
