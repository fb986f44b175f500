package web

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"regexp"
	"strings"

	"parley/core/chat"
)

// conversationIDs matches conversation ids in rooms ("web/…"), in names derived from rooms, and in paths of the API.
var conversationIDs = regexp.MustCompile(`(web/|conversations/)([0-9a-f]{32,40})`)

// tokens matches the tokens of visitors, accounts and programs, and the addresses of files for agents, which no record needs.
var tokens = regexp.MustCompile(`agents/files/[\w-]+|(?:visitor|ticket)_[\w-]{20,}|parley_[A-Z2-7]{20,}|eyJ[\w-]+\.[\w-]+\.[\w-]+`)

// LogKey is the name of the stored key of the log's hashes. The key has no other use, so that hashes in the log can't be
// matched with stored hashes.
const LogKey = "log key"

// HideConversations returns a handler that passes records to h with a hash in place of each conversation id, because
// the id gives access to the conversation, and with a hash of all of each attribute whose key ends with _hash. Ids of rooms, chats and channels of
// platforms are hashed where they are attributes, also in ids of runs. The hash of an id depends only on the key, so that records of one
// conversation can still be recognized. Messages, attributes, groups and the texts of errors are searched.
//
// A record about a run, which has its id as run, also gets the hash of the room as room_hash, and its trace, unless trace returns "".
func HideConversations(h slog.Handler, key string, trace func(run string) string) slog.Handler {
	return hiding{h, []byte(key), trace}
}

// hiding is the handler that HideConversations returns.
type hiding struct {
	slog.Handler
	key   []byte
	trace func(run string) string
}

// Handle implements [slog.Handler].
func (h hiding) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, h.text(r.Message), r.PC)
	all := make([]slog.Attr, 0, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		all = append(all, a)
		return true
	})
	clean.AddAttrs(h.attrs(all)...)
	return h.Handler.Handle(ctx, clean)
}

// WithAttrs implements [slog.Handler].
func (h hiding) WithAttrs(attrs []slog.Attr) slog.Handler {
	return hiding{h.Handler.WithAttrs(h.attrs(attrs)), h.key, h.trace}
}

// WithGroup implements [slog.Handler].
func (h hiding) WithGroup(name string) slog.Handler {
	return hiding{h.Handler.WithGroup(name), h.key, h.trace}
}

// attrs is attr for several, with the attributes that follow from a run among them.
func (h hiding) attrs(attrs []slog.Attr) []slog.Attr {
	clean, run, room := make([]slog.Attr, len(attrs)), "", false
	for i, a := range attrs {
		if clean[i] = h.attr(a); a.Key == "run" {
			run = a.Value.String()
		}
		room = room || a.Key == roomHash
	}
	if i := strings.LastIndexByte(run, '#'); i > 0 && !room {
		clean = append(clean, slog.String(roomHash, h.hash(run[:i])))
	}
	if id := h.trace(run); run != "" && id != "" {
		clean = append(clean, slog.String("trace", id))
	}
	return clean
}

const roomHash = "room_hash"

// attr returns a with hidden ids, also within groups and in the texts of errors.
func (h hiding) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch a.Key {
	case "run", "room", "chat", "channel":
		return slog.String(a.Key, h.place(v.String()))
	}
	switch v.Kind() {
	case slog.KindGroup:
		a.Value = slog.GroupValue(h.attrs(v.Group())...)
	case slog.KindString:
		a.Value = slog.StringValue(h.text(v.String()))
		if strings.HasSuffix(a.Key, "_hash") { // such as the room of an answer
			a.Value = slog.StringValue(h.hash(v.String()))
		}
	case slog.KindAny: // errors, and ids of other string types
		written := fmt.Sprint(v.Any())
		if clean := h.text(written); clean != written {
			a.Value = slog.StringValue(clean)
		}
	}
	return a
}

// placeID matches the id of a room or a run, with its connector, or of a chat.
var placeID = regexp.MustCompile(`^([^/]+/)?(.+?)(#\d+)?$`)

// place replaces the id of a place, also in that of a run. The connector and the number of the run stay.
func (h hiding) place(id string) string {
	parts := placeID.FindStringSubmatch(id)
	if clean := h.text(id); clean != id || parts == nil {
		return clean
	}
	return parts[1] + h.hash(parts[1]+parts[2]) + parts[3]
}

// text replaces the conversation ids in s.
func (h hiding) text(s string) string {
	s = tokens.ReplaceAllString(s, "[token]")
	return conversationIDs.ReplaceAllStringFunc(s, func(found string) string {
		parts := conversationIDs.FindStringSubmatch(found)
		return parts[1] + h.hash(parts[2])
	})
}

func (h hiding) hash(text string) string { return Hash(h.key, text) }

// Reveal returns an id of a run or a room as it was before [HideConversations] with the same key, if its room is among rooms. Other ids
// stay as they are.
func Reveal(key []byte, id string, rooms []chat.ListedRoom) string {
	parts := placeID.FindStringSubmatch(id)
	if parts == nil || !strings.HasPrefix(parts[2], "~") {
		return id
	}
	for _, r := range rooms {
		own, ok := strings.CutPrefix(string(r.ID), parts[1])
		if ok && (Hash(key, own) == parts[2] || Hash(key, string(r.ID)) == parts[2]) { // that of a conversation, or of a room
			return string(r.ID) + parts[3]
		}
	}
	return id
}

// Hash returns the hash of a room, as [HideConversations] writes it with the same key.
func Hash(key []byte, text string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text)) // never fails
	return "~" + hex.EncodeToString(mac.Sum(nil)[:6])
}
