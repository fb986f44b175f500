package discordfake

import (
	"encoding/json"
	"slices"
	"time"
)

// Request is one REST request, or one attempt to open the gateway, as it
// arrived and as it ended.
type Request struct {
	N       int // 0, 1, 2 … in order of arrival
	At      time.Time
	Method  string
	Path    string
	Query   string
	Route   Route // "" if there is no such endpoint
	Channel string
	Message string
	Body    []byte // do not change

	Done       time.Time // when it was decided; zero while it is delayed
	Status     int       // 0 if the connection was dropped before
	Code       int       // Discord's error code
	Applied    bool      // it took effect
	Lost       bool      // the client got no answer
	Fault      string    // the fault that it met
	Bucket     string
	Scope      Scope         // of a 429
	RetryAfter time.Duration // of a 429
	DuringHold bool          // it came before an earlier retry_after had passed (I6)
	Repeated   bool          // a create whose nonce had been used: the earlier message was returned
}

// Rejection is something that a correct client never sends.
type Rejection struct {
	Request Request // zero if it came by the gateway
	At      time.Time
	Reason  string
}

// TypingMark is one typing indicator shown to users.
type TypingMark struct {
	At   time.Time
	User string
}

// Version is one state of a message and when it appeared. The last one of a
// deleted message has Deleted set and no content.
type Version struct {
	At          time.Time
	Content     string
	Flags       int
	Attachments []Attachment
	Deleted     bool
}

// Message is a message as users see it now.
type Message struct {
	ID          string
	Channel     string
	Author      string
	ByBot       bool // by the bot under test
	Content     string
	At          time.Time
	EditedAt    time.Time // zero if never edited
	Versions    int       // 1 if never edited
	ReplyTo     string    // the message's id, even if it is gone
	Flags       int
	Nonce       string
	Embeds      json.RawMessage // as sent; users see none of them under FlagSuppressEmbeds
	Components  json.RawMessage
	Attachments []Attachment
	OnlyFor     string   // the user who sees it, of an ephemeral message
	Reactions   []string // the bot's own
}

// journal is all that was observed; guarded by the server's mutex.
type journal struct {
	requests []*Request
	rejected []Rejection
	pings    []Ping
	notified []*message
}

func (j *journal) add(r *Request) {
	r.N = len(j.requests)
	j.requests = append(j.requests, r)
}

func (s *Server) reject(r Request, reason string) {
	s.journal.rejected = append(s.journal.rejected, Rejection{Request: r, At: time.Now(), Reason: reason})
}

// Log returns every request so far in order of arrival. It holds no tokens.
func (s *Server) Log() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, len(s.journal.requests))
	for i, r := range s.journal.requests {
		out[i] = *r
	}
	return out
}

// Rejected returns what a correct client would not have sent: malformed
// bodies, unknown fields and endpoints, texts over the limits.
func (s *Server) Rejected() []Rejection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.journal.rejected)
}

// Pings returns the notifications that the bot's messages and edits caused.
func (s *Server) Pings() []Ping {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.journal.pings)
}

// Notified returns the first texts of the bot's messages in a channel that were not posted silently, oldest first. It includes those
// that were deleted since.
func (s *Server) Notified(channel string) (texts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.journal.notified {
		if m.channel.id == channel {
			texts = append(texts, m.versions[0].Content)
		}
	}
	return texts
}

// Messages returns what stands in a channel now, oldest first.
func (s *Server) Messages(channelID string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	for _, m := range s.mustChannel(channelID).live() {
		out = append(out, s.shown(m))
	}
	return out
}

func (s *Server) shown(m *message) Message {
	nonce, _ := parseNonce(m.nonce) // checked when it came
	shown := Message{
		ID: m.id, Channel: m.channel.id, Author: m.author.id, ByBot: m.author == s.bot,
		Content: m.content(), At: m.createdAt(), EditedAt: m.editedAt(), Versions: len(m.versions),
		Flags: m.flags, Nonce: nonce, Embeds: m.embeds, Components: m.components, Reactions: slices.Clone(m.reactions),
		Attachments: slices.Clone(m.attachments), OnlyFor: m.onlyFor,
	}
	if m.reply != nil {
		shown.ReplyTo = m.reply.messageID
	}
	return shown
}

// History returns every state a message has had, its deletion last.
func (s *Server) History(messageID string) []Version {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.mustMessage(messageID)
	out := slices.Clone(m.versions)
	if m.deleted {
		out = append(out, Version{At: m.deletedAt, Deleted: true})
	}
	return out
}

// Typing returns every time that the bot or a user was shown typing in a
// channel. Each lasts ten seconds, or until that user's next message.
func (s *Server) Typing(channelID string) []TypingMark {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mustChannel(channelID).typing)
}

// TypingShown reports whether users see the bot typing now.
func (s *Server) TypingShown(channelID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.mustChannel(channelID)
	var last time.Time
	for _, t := range c.typing {
		if t.User == s.bot.id {
			last = t.At
		}
	}
	for _, m := range c.messages {
		if m.author == s.bot && !m.createdAt().Before(last) {
			return false
		}
	}
	return !last.IsZero() && time.Since(last) < typingLasts
}

// typingLasts is how long one typing call is shown (DR-23).
const typingLasts = 10 * time.Second
