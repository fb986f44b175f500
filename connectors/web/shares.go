package web

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"parley/connectors/web/dialect"
	"parley/core/chat"
)

const (
	maxShares  = 20        // links of a conversation
	maxShared  = 256 << 10 // bytes of a copy
	shareDays  = 30        // unless the request says otherwise
	mostDays   = 365
	sharedPath = "/api/shared/" // begins the paths of shared conversations
)

// shareRequest asks for a link.
type shareRequest struct {
	Days int `json:"days,omitempty"` // until it ends; 0: 30
}

// sharedConversation is a copy of a conversation without calls, files, names and quotes of clients, as a link shows it.
type sharedConversation struct {
	Title     string          `json:"title,omitempty"`
	Agent     string          `json:"agentName"`
	SharedAt  time.Time       `json:"sharedAt"`
	ExpiresAt time.Time       `json:"expiresAt"`
	Messages  []sharedMessage `json:"messages"`
}

type sharedMessage struct {
	Role      string `json:"role"`
	Text      string `json:"text"`
	Timestamp int64  `json:"timestamp"` // milliseconds since 1970
}

// shareReply describes a link. URL is relative to the gateway's.
type shareReply struct {
	ID        string    `json:"id"`
	URL       string    `json:"url"`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// sharedReply is the reply to a request for a link, and sharesReply the list of them.
type (
	sharedReply struct {
		Share shareReply `json:"share"`
	}
	sharesReply struct {
		Shares []shareReply `json:"shares"`
	}
)

// share makes a link that shows the conversation as it is now: POST …/shares. The copy is deleted with any of its messages.
func (a manageAPI) share(rw http.ResponseWriter, r *http.Request) (any, *refusal) {
	var body shareRequest
	room, _, no := a.changes(rw, r, &body, `{"days": …}`)
	if no == nil && (body.Days < 0 || body.Days > mostDays) {
		no = refused(http.StatusBadRequest, "days is between 1 and 365.").unread(r.Body)
	}
	if no != nil {
		return nil, no
	}
	if body.Days == 0 {
		body.Days = shareDays
	}
	note, err := a.snapshot(r.Context(), room.ID, time.Now().AddDate(0, 0, body.Days))
	var before []chat.RoomNote
	if err == nil {
		before, err = a.web.opts.Store.Notes(r.Context(), room.ID, chat.ShareNote, chat.MaxNotes)
	}
	switch {
	case err != nil:
	case note.First == "":
		return nil, refused(http.StatusConflict, "refused.nothing_to_share")
	case len(before) >= maxShares:
		return nil, refused(http.StatusConflict, "refused.many_links")
	default:
		err = a.web.opts.Store.SaveNote(r.Context(), note)
	}
	var link shareReply
	if err == nil {
		link, err = a.link(r.Context(), note)
	}
	if err != nil {
		return nil, a.web.failures.refuse("share a conversation", err)
	}
	return created{sharedReply{link}}, nil
}

// snapshot returns the note with a copy of a room: its newest messages, as many as fit.
func (a manageAPI) snapshot(ctx context.Context, room chat.RoomID, ends time.Time) (chat.RoomNote, error) {
	note := chat.RoomNote{Room: room, Kind: chat.ShareNote, Key: newID(), At: time.Now(), Expires: ends}
	recent, err := a.web.opts.Store.Recent(ctx, room, chat.Said, 0, shown)
	if err != nil {
		return note, err
	}
	title, err := door(a).title(ctx, room)
	if err != nil {
		return note, err
	}
	is := sharedConversation{Title: title, Agent: a.web.opts.Agent.Name, SharedAt: note.At.UTC(), ExpiresAt: ends.UTC()}
	size := 0
	for _, m := range slices.Backward(recent) {
		role, said := clients(a).said(m) // a client's instructions are not for others
		if size += len(said); size > maxShared {
			break
		}
		is.Messages = append(is.Messages, sharedMessage{role, said, m.At.UnixMilli()})
		if note.First = m.ID; note.Last == "" {
			note.Last = m.ID
		}
	}
	slices.Reverse(is.Messages)
	stored, err := json.Marshal(is)
	note.Text = string(stored)
	return note, err
}

// shares lists the links of a conversation: GET …/shares.
func (a manageAPI) shares(_ http.ResponseWriter, r *http.Request) (any, *refusal) {
	room, no := door(a).conversation(r, r.PathValue("id"))
	if no != nil {
		return nil, no
	}
	notes, err := a.web.opts.Store.Notes(r.Context(), room.ID, chat.ShareNote, chat.MaxNotes)
	all := []shareReply{}
	for _, n := range notes {
		var link shareReply
		if err == nil {
			link, err = a.link(r.Context(), n)
		}
		all = append(all, link)
	}
	if err != nil {
		return nil, a.web.failures.refuse("list the links of a conversation", err)
	}
	return sharesReply{all}, nil
}

// unshare removes a link: DELETE …/shares/{share}.
func (a manageAPI) unshare(_ http.ResponseWriter, r *http.Request) (any, *refusal) {
	room, no := door(a).conversation(r, r.PathValue("id"))
	if no != nil {
		return nil, no
	}
	if err := a.web.opts.Store.SaveNote(r.Context(), chat.RoomNote{Room: room.ID, Kind: chat.ShareNote, Key: r.PathValue("share")}); err != nil {
		return nil, a.web.failures.refuse("remove the link of a conversation", err)
	}
	return okReply{true}, nil
}

// shared shows the copy of a conversation to everyone who has the link: GET /api/shared/{token}, as text, or as JSON for clients
// that accept that.
func (a manageAPI) shared(rw http.ResponseWriter, r *http.Request) {
	room, key, err := a.open(r.Context(), r.PathValue("token"))
	var notes []chat.RoomNote
	var deleted map[chat.RoomID]bool
	if err == nil {
		notes, err = a.web.opts.Store.Notes(r.Context(), room, chat.ShareNote, chat.MaxNotes)
	}
	if err == nil {
		deleted, err = eraser{door(a)}.deletions(r.Context())
	}
	if deleted[room] {
		notes = nil
	}
	i := slices.IndexFunc(notes, func(n chat.RoomNote) bool { return n.Key == key })
	if err == nil && i < 0 {
		err = chat.ErrNotFound
	}
	var is sharedConversation
	if err == nil {
		err = json.Unmarshal([]byte(notes[i].Text), &is)
	}
	switch {
	case errors.Is(err, chat.ErrNotFound):
		fail(rw, http.StatusNotFound, "refused.link_ended")
	case err != nil:
		a.web.broken(rw, "show a shared conversation", err)
	case strings.Contains(r.Header.Get("Accept"), "application/json"):
		reply(rw, http.StatusOK, is)
	default:
		rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
		for _, m := range is.Messages {
			name := "You"
			if m.Role == dialect.Assistant {
				name = is.Agent
			}
			if (chat.Memory{Text: m.Text, At: time.UnixMilli(m.Timestamp).UTC()}).WriteMarkdown(rw, name) != nil {
				return // the reader has disconnected
			}
		}
	}
}

// link returns the link to a copy. Its token is the encrypted name of the note, so that it reveals no id of a conversation.
func (a manageAPI) link(ctx context.Context, n chat.RoomNote) (shareReply, error) {
	seal, err := a.web.visitors.Cipher(ctx, "share")
	if err != nil {
		return shareReply{}, err
	}
	// The nonce is that of the note, which is random: the same link each time.
	nonce, err := base64.RawURLEncoding.DecodeString(n.Key[:16])
	token := seal.Seal(nonce, nonce, []byte(string(n.Room)+"\x00"+n.Key), nil)
	return shareReply{n.Key, strings.TrimPrefix(sharedPath, "/") + base64.RawURLEncoding.EncodeToString(token), n.At.UTC(), n.Expires.UTC()}, err
}

// open returns the room and the key of the note behind a token, or [chat.ErrNotFound].
func (a manageAPI) open(ctx context.Context, token string) (room chat.RoomID, key string, err error) {
	seal, err := a.web.visitors.Cipher(ctx, "share")
	if err != nil {
		return "", "", err
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) < seal.NonceSize() {
		return "", "", chat.ErrNotFound
	}
	name, err := seal.Open(nil, raw[:seal.NonceSize()], raw[seal.NonceSize():], nil)
	id, key, ok := strings.Cut(string(name), "\x00")
	if err != nil || !ok {
		return "", "", chat.ErrNotFound
	}
	return chat.RoomID(id), key, nil
}
