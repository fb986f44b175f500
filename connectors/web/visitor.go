package web

import (
	"context"
	"encoding/hex"
	"errors"
	"hash/fnv"
	"net/http"
	"net/url"
	"strings"
	"time"

	"parley/connectors/web/identity"
	"parley/core/chat"
)

const (
	visitorCookie = "parley_visitor" // of the gateway's own page
	// anonymousShares is how many daily limits the anonymous visitors of an address have together: so an office does not share
	// one person's limit, and new tokens give no more than that.
	anonymousShares = 16
)

// Codes of refusals that clients handle.
const (
	codeExpired  = "TOKEN_EXPIRED"     // get a new token
	codeRevoked  = "KEY_REVOKED"       // the key is not valid any more: don't come back with it
	codeIdentity = "IDENTITY_REQUIRED" // the request needs a token
	codeScope    = "SCOPE_MISSING"     // the key lacks a scope
)

// door decides for every route who asks, and which conversation they may open: identified runs before all routes, and
// conversation is the only way from an id of a request to a room. It returns refusals, which each API writes in its own form.
type door struct{ web *Web }

// readerKey is the key of the reader in the context of a request.
type readerKey struct{}

// readerOf returns who makes r, as identified has found.
func readerOf(r *http.Request) reader {
	who, _ := r.Context().Value(readerKey{}).(reader)
	return who
}

// identified finds out who makes a request and passes it on with that, or refuses it. Clients that only know the id of a
// conversation learn from a header that this will end.
func (d door) identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		r, release, no := d.enter(rw, r)
		if no != nil {
			no.reply(rw)
			return
		}
		defer release()
		next.ServeHTTP(rw, r)
	})
}

// conversationsPath begins the paths of all routes about conversations.
const conversationsPath = "/api/conversations"

// enter returns the request with who makes it, if they may. The caller must call release.
func (d door) enter(rw http.ResponseWriter, r *http.Request) (_ *http.Request, release func(), no *refusal) {
	var who reader
	if r.URL.Path == socketPath {
		no = socketAPI(d).admitTicket(r)
	}
	if no == nil {
		who, no = d.identify(r)
	}
	if no == nil {
		no = d.admit(r, who)
	}
	if no != nil {
		if no.status == http.StatusUnauthorized {
			rw.Header().Set("WWW-Authenticate", "Bearer")
		}
		return nil, nil, no
	}
	if who.id == "" && !d.web.private && strings.HasPrefix(r.URL.Path, conversationsPath) {
		if end, err := d.web.claims.end(r.Context()); err == nil {
			rw.Header().Set("Deprecation", "true")
			rw.Header().Set("Sunset", end.UTC().Format(http.TimeFormat))
		}
	}
	release, no = d.occupy(r, who)
	return r.WithContext(context.WithValue(r.Context(), readerKey{}, who)), release, no
}

// identify returns who makes a request: the owner, by the local token or by a session of a browser, or a visitor. A token
// that is wrong is refused, because the sender does not want to be someone else.
func (d door) identify(r *http.Request) (reader, *refusal) {
	who := reader{details: d.web.private && !forwarded(r)}
	for _, open := range []string{hooksPath, agentsPath, sharedPath} { // they have secrets of their own
		if strings.HasPrefix(r.URL.Path, open) {
			return who, nil
		}
	}
	_, sent := r.Header["Authorization"]
	token, bearer := bearerOf(r)
	switch {
	case d.web.trusted(r):
		return reader{id: Owner, owner: true, details: true}, nil
	case sent && !bearer:
		return who, d.unknown(r, identity.ErrUnknown, "")
	case sent && strings.HasPrefix(token, identity.KeyPrefix):
		return d.byKey(r, who, token)
	case sent && !strings.HasPrefix(token, identity.VisitorPrefix):
		is, no := d.byAccount(r, who, token)
		if no != nil && who.details && strings.HasPrefix(r.URL.Path, "/v1/") {
			return who, nil // clients of OpenAI's API send some key, also to a gateway on their own machine
		}
		return is, no
	}
	_, err := d.web.session(r)
	switch {
	case chat.Unless(err, chat.ErrNotFound) != nil:
		return who, d.web.failures.refuse("find a session", err)
	case err == nil:
		return reader{id: Owner, owner: true, details: true}, nil
	case !sent:
		cookie, err := r.Cookie(visitorCookie)
		if err != nil || !firstParty(r) {
			return who, nil
		}
		token = cookie.Value
	}
	id, ends, err := d.web.visitors.Verify(r.Context(), token)
	switch wrong := errors.Is(err, identity.ErrUnknown) || errors.Is(err, identity.ErrExpired); {
	case wrong && !sent: // the page does not see its cookie
		return who, nil
	case err != nil:
		return who, d.unknown(r, err, "verify a visitor's token")
	}
	who.id, who.ends = chat.EntityID(Name+"/visitor/"+id), ends
	return who, nil
}

// bearerOf returns the token of a request, and reports whether it has one. The case of the scheme does not matter.
func bearerOf(r *http.Request) (token string, ok bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), strings.EqualFold(scheme, "Bearer")
}

// byKey returns the reader with an API key.
func (d door) byKey(r *http.Request, who reader, text string) (reader, *refusal) {
	key, err := d.web.keys.Find(r.Context(), text)
	if err != nil {
		return who, d.unknown(r, err, "find an API key")
	}
	scope := identity.Write
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		scope = identity.Read
	}
	if !key.Allows(scope) {
		no := refused(http.StatusForbidden, "This API key does not have the scope "+scope+".")
		no.code = codeScope
		return who, no
	}
	who.id, who.known, who.perMinute = chat.EntityID(Name+"/key/"+key.ID), true, key.PerMinute
	who.ends = key.Ends
	who.valid = func(ctx context.Context) bool {
		_, err := d.web.keys.Find(ctx, text)
		return !errors.Is(err, identity.ErrUnknown) // a store that is away revokes nothing
	}
	return who, nil
}

// byAccount returns the reader with a token of the site.
func (d door) byAccount(r *http.Request, who reader, token string) (reader, *refusal) {
	if d.web.opts.Site == nil {
		return who, d.unknown(r, identity.ErrUnknown, "")
	}
	is, err := d.web.opts.Site.Verify(r.Context(), token)
	if err != nil {
		d.web.opts.Log.Debug("a token was refused", "err", err)
		return who, d.unknown(r, err, "read the site's keys")
	}
	who.id, who.known, who.account = chat.EntityID(Name+"/user/"+url.PathEscape(is.Subject)), true, true
	who.name, who.ends = is.Name, is.Ends
	return who, nil
}

// unknown refuses a token, because of the error of its verification; what names the attempt. Wrong tokens are limited for each address.
func (d door) unknown(r *http.Request, err error, what string) *refusal {
	expired := errors.Is(err, identity.ErrExpired)
	if !expired && !errors.Is(err, identity.ErrUnknown) {
		return d.web.failures.refuse(what, err)
	}
	if wait := d.web.wrong.take(caller{from: d.web.guard.client(r)}); wait > 0 {
		return tooMany(wait)
	}
	no := refused(http.StatusUnauthorized, "The gateway does not know this token.")
	if expired {
		no = refused(http.StatusUnauthorized, "refused.session_expired")
		no.code = codeExpired
	}
	return no
}

// blocked refuses a request of a blocked visitor.
func blocked() *refusal { return refused(http.StatusForbidden, "refused.not_allowed") }

// admit refuses blocked readers, and readers without an account where the gateway requires one.
func (d door) admit(r *http.Request, who reader) *refusal {
	if d.web.opts.Blocked != nil && who.id != "" {
		switch is, err := d.web.opts.Blocked(r.Context(), who.id); {
		case err != nil:
			return d.web.failures.refuse("check a visitor", err)
		case is:
			return blocked()
		}
	}
	path := r.URL.Path
	switch {
	case who.owner, who.known, path == "/api/login", strings.HasPrefix(path, hooksPath), strings.HasPrefix(path, agentsPath), strings.HasPrefix(path, sharedPath):
	case d.web.opts.RequireIdentity:
		return needsIdentity("refused.sign_in")
	case d.web.opts.Verify.on() && who.id == "" && path != "/api/visitors":
		return needsIdentity("refused.reload")
	}
	return nil
}

// needsIdentity refuses a request without a token.
func needsIdentity(sentence string) *refusal {
	no := refused(http.StatusUnauthorized, sentence)
	no.code = codeIdentity
	return no
}

// conversation returns a conversation that the reader of r may open. To all others it does not exist, and neither does a deleted
// one.
func (d door) conversation(r *http.Request, id string) (chat.Room, *refusal) {
	room, deleted, no := d.find(r, id)
	if no == nil && deleted.Key != "" {
		no = notFound()
	}
	return room, no
}

// writable returns a conversation for a new message. A deleted one is erased first.
func (d door) writable(r *http.Request, id string) (chat.Room, *refusal) {
	room, deleted, no := d.find(r, id)
	if no != nil || deleted.Key == "" {
		return room, no
	}
	erased, err := eraser{d}.erase(r.Context(), deleted)
	switch {
	case err != nil:
		no = d.web.failures.refuse("erase a conversation", err)
	case !erased:
		no = refused(http.StatusServiceUnavailable, "refused.being_deleted")
		no.wait = time.Second
	}
	return room, no
}

func notFound() *refusal { return refused(http.StatusNotFound, "refused.no_conversation") }

// find returns a conversation that the reader of r may open, with the note of its deletion if it is deleted.
func (d door) find(r *http.Request, id string) (room chat.Room, deleted chat.RoomNote, no *refusal) {
	var readers []chat.RoomNote
	room, err := d.web.opts.Store.Room(r.Context(), roomOf(id))
	if err == nil {
		readers, err = d.web.opts.Store.Notes(r.Context(), room.ID, chat.ReaderNote, chat.MaxNotes)
	}
	for _, n := range readers {
		if n.Key == deletedReader {
			deleted = n
		}
	}
	if err == nil {
		err = d.mayOpen(r, room.ID, readers)
	}
	switch {
	case errors.Is(err, chat.ErrNotFound):
		no = notFound()
	case err != nil:
		no = d.web.failures.refuse("find a conversation", err)
	}
	return room, deleted, no
}

// mayOpen returns [chat.ErrNotFound] if the reader of r may not open a room with these readers. The first visitor with a token who
// brings the id of a conversation that was opened without one is noted as its reader, until that ends; see [claims].
func (d door) mayOpen(r *http.Request, room chat.RoomID, readers []chat.RoomNote) error {
	who := readerOf(r)
	if who.owner {
		return nil
	}
	byID := len(room) != len(Name)+1+2*ownedSize
	for _, n := range readers {
		if who.id != "" && n.Key == string(who.id) {
			return nil
		}
		byID = byID && n.Text != readerOpened
	}
	if !byID {
		return chat.ErrNotFound
	}
	if !d.web.private {
		if end, err := d.web.claims.end(r.Context()); err != nil {
			return err
		} else if !time.Now().Before(end) {
			return chat.ErrNotFound
		}
	}
	// Only a browser has stored the id; the guard has checked its origin. An API key claims nothing.
	browser := r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") == "same-origin"
	switch {
	case who.id == "":
		return nil
	case !browser || strings.HasPrefix(string(who.id), Name+"/key/"):
		return chat.ErrNotFound
	case len(readers) >= maxClaims: // one more would push out the oldest reader
		return nil
	}
	return d.note(r.Context(), room, who.id, readerClaimed, time.Time{})
}

// maxClaims is how many readers a conversation can have by claims: less than chat.MaxNotes, because the oldest notes beyond that are
// deleted.
const maxClaims = chat.MaxNotes / 2

// How a visitor became a reader of a conversation: the texts of notes.
const (
	readerOpened  = "opened"
	readerClaimed = "claimed" // brought the id of a conversation that was opened without a token
	readerGranted = "granted" // by the owner
)

// OpenedBy returns the anonymous visitor who opened the conversation that account is of; "" if there is none. It fails with the error of the store.
func OpenedBy(ctx context.Context, store Store, account chat.EntityID) (chat.EntityID, error) {
	readers, err := store.Notes(ctx, chat.RoomID(account), chat.ReaderNote, chat.MaxNotes)
	for _, n := range readers {
		if n.Text == readerOpened && strings.HasPrefix(n.Key, Name+"/visitor/") {
			return chat.EntityID(n.Key), err
		}
	}
	return "", err
}

// note stores that a visitor may open a room.
func (d door) note(ctx context.Context, room chat.RoomID, who chat.EntityID, how string, expires time.Time) error {
	return d.web.opts.Store.SaveNote(ctx, chat.RoomNote{
		Room: room, Kind: chat.ReaderNote, Key: string(who), About: who, Text: how, At: time.Now(), Expires: expires,
	})
}

// create opens a conversation of the reader of r. Its id can be made of the names of the client and the reader, so that a
// client that chooses ids finds it again; see [newConversationID] otherwise.
func (d door) create(r *http.Request, id string) (chat.Room, *refusal) {
	who := readerOf(r)
	room := chat.Room{
		ID: roomOf(id), Kind: chat.API, Connector: Name, Created: time.Now(),
		Address: chat.Address{Connector: Name, Room: roomOf(id)},
	}
	if who.id == "" && !d.web.private {
		end, err := d.web.claims.end(r.Context())
		switch {
		case err != nil:
			return room, d.web.failures.refuse("open a conversation", err)
		case !time.Now().Before(end):
			return room, needsIdentity("refused.reload")
		}
	}
	err := d.web.opts.Store.SaveRoom(r.Context(), room)
	if err == nil && who.id != "" {
		err = d.note(r.Context(), room.ID, who.id, readerOpened, time.Now().Add(emptyFor))
	}
	if err != nil {
		return room, d.web.failures.refuse("open a conversation", err)
	}
	return room, nil
}

const (
	// emptyFor is how long a conversation without messages is kept. Then the note on its reader goes with it.
	emptyFor = 30 * 24 * time.Hour
	// touched is how often, at most, a message moves its conversation to the top of its reader's list.
	touched = time.Hour
)

// touch notes that the reader of r has written m: the note stays, and the conversation is the newest one of its reader. The first
// message is its title.
func (d door) touch(r *http.Request, m chat.Memory) error {
	who := readerOf(r)
	readers, err := d.web.opts.Store.Notes(r.Context(), m.Room, chat.ReaderNote, chat.MaxNotes)
	for _, n := range readers {
		if n.Key != string(who.id) || n.Expires.IsZero() && time.Since(n.At) <= touched {
			continue
		}
		err := d.note(r.Context(), m.Room, who.id, n.Text, time.Time{})
		if err == nil && !n.Expires.IsZero() {
			_, err = d.title(r.Context(), m.Room)
		}
		return err
	}
	return err
}

// ownedSize is the number of bytes of the id of a conversation whose reader has a token. Its length tells it from ids that
// open a conversation by themselves, also if the notes on its readers are deleted.
const ownedSize = 20

// newConversationID returns the id of a new conversation of a reader.
func newConversationID(who reader) string {
	if who.id == "" {
		return newID()
	}
	return hex.EncodeToString(random(ownedSize))
}

// payer returns the account whose daily limits a request counts against: that of an account or a key; of an anonymous visitor
// one of a few that their address has; and without a token the address with all its conversations, because a new conversation
// costs nothing.
func (d door) payer(r *http.Request) (chat.EntityID, *refusal) {
	who, from := readerOf(r), d.web.guard.client(r).String()
	switch {
	case who.known:
		return who.id, nil
	case who.id != "" && !who.owner:
		h := fnv.New32a()
		_, _ = h.Write([]byte(who.id)) // never fails
		from += "/" + string('a'+rune(h.Sum32()%anonymousShares))
	}
	id, err := d.web.addresses.name(r.Context(), from)
	if err != nil {
		return "", d.web.failures.refuse("hash a visitor's address", err)
	}
	return id, nil
}
