package web

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"parley/connectors/web/identity"
	"parley/core/chat"
)

// mint gives an anonymous visitor a token: POST /api/visitors. With a token, it renews that. The gateway's own page gets it as
// a cookie too, for links to files.
func (d door) mint(rw http.ResponseWriter, r *http.Request) (any, *refusal) {
	who := readerOf(r)
	no := d.web.charge(r, d.web.minted)
	if no == nil {
		no = d.prove(rw, r)
	}
	if no != nil {
		return nil, no
	}
	id, _ := strings.CutPrefix(string(who.id), Name+"/visitor/")
	if who.known || who.owner {
		id = ""
	}
	token, ends, err := d.web.visitors.Mint(r.Context(), id)
	if err != nil {
		return nil, d.web.failures.refuse("make a visitor's token", err)
	}
	if firstParty(r) && ownOrigin(r) {
		http.SetCookie(rw, pageCookie(r, visitorCookie, token, identity.VisitorTime))
	}
	return created{mintReply{visitorToken{token, ends}}}, nil
}

// mintRequest is the optional body of a request for a token.
type mintRequest struct {
	Proof string `json:"proof"` // of Turnstile or hCaptcha
}

// mintReply is the reply to a request for a token.
type mintReply struct {
	Visitor visitorToken `json:"visitor"`
}

type visitorToken struct {
	Token     string    `json:"token"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// adoptRequest offers the conversations of an anonymous visitor to an account.
type adoptRequest struct {
	VisitorToken string   `json:"visitorToken"`
	IDs          []string `json:"ids,omitempty"` // those to take over; none: all are only offered
}

// adopt shows an account the conversations of the visitor that the browser was before, and takes over the chosen ones:
// POST /api/account/conversations. Each belongs to one account only: the visitor can't offer it again.
func (d door) adopt(rw http.ResponseWriter, r *http.Request) (any, *refusal) {
	who := readerOf(r)
	if !who.account {
		return nil, needsIdentity("refused.sign_in")
	}
	if no := d.web.charge(r, d.web.attempts); no != nil {
		return nil, no
	}
	var body adoptRequest
	if no := readSmall(rw, r, &body, "{\"visitorToken\": …}"); no != nil {
		return nil, no
	}
	id, _, err := d.web.visitors.Verify(r.Context(), body.VisitorToken)
	if errors.Is(err, identity.ErrUnknown) || errors.Is(err, identity.ErrExpired) {
		return nil, refused(http.StatusUnprocessableEntity, "refused.no_visitor")
	}
	if err == nil {
		var offered []listed
		if offered, err = d.takeOver(r, chat.EntityID(Name+"/visitor/"+id), body.IDs); err == nil {
			return listReply{offered}, nil
		}
	}
	return nil, d.web.failures.refuse("offer conversations to an account", err)
}

// takeOver moves the conversations with ids from a visitor to the reader of r, and returns them; for none it returns all that
// the visitor opened.
func (d door) takeOver(r *http.Request, from chat.EntityID, ids []string) ([]listed, error) {
	notes, err := d.web.opts.Store.NotesAbout(r.Context(), from, chat.ReaderNote, false, maxListed)
	if err != nil {
		return nil, err
	}
	chosen := map[chat.RoomID]bool{}
	for _, id := range ids {
		chosen[roomOf(id)] = true
	}
	all := []listed{}
	for _, n := range notes {
		if n.Text == readerGranted || len(ids) > 0 && !chosen[n.Room] {
			continue
		}
		if len(ids) > 0 {
			if taken, err := d.take(r, n); err != nil {
				return nil, err
			} else if !taken {
				continue
			}
		}
		one, err := d.describe(r, n)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// take moves a conversation from its reader to that of r, and reports whether it did: of several requests at the same moment, also at
// other gateways, one does.
func (d door) take(r *http.Request, from chat.RoomNote) (bool, error) {
	sum := sha256.Sum256([]byte(string(from.Room) + " " + from.Key))
	if first, err := d.web.tickets.use(r.Context(), sum[:12], time.Now()); !first || err != nil {
		return false, err
	}
	left, err := d.web.opts.Store.Notes(r.Context(), from.Room, chat.ReaderNote, chat.MaxNotes)
	if err != nil || !slices.ContainsFunc(left, func(n chat.RoomNote) bool { return n.Key == from.Key }) {
		return false, err
	}
	// The account first: after a crash in between, both can open it, and the visitor can offer it again.
	if err = d.note(r.Context(), from.Room, readerOf(r).id, from.Text, from.Expires); err == nil {
		err = d.unread(r, from.Room, from.About)
	}
	return err == nil, err
}

// unread takes the permission to open a room away from a visitor.
func (d door) unread(r *http.Request, room chat.RoomID, who chat.EntityID) error {
	return d.web.opts.Store.SaveNote(r.Context(), chat.RoomNote{Room: room, Kind: chat.ReaderNote, Key: string(who), About: who})
}

// readersReply lists the readers of a conversation.
type readersReply struct {
	Readers []readerReply `json:"readers"`
}

type readerReply struct {
	ID  chat.EntityID `json:"id"`
	How string        `json:"how"` // opened, claimed or granted
}

// readers lists for the owner who can open a conversation: GET …/readers.
func (d door) readers(_ http.ResponseWriter, r *http.Request) (any, *refusal) {
	room, no := d.owned(r)
	if no != nil {
		return nil, no
	}
	notes, err := d.web.opts.Store.Notes(r.Context(), room.ID, chat.ReaderNote, chat.MaxNotes)
	if err != nil {
		return nil, d.web.failures.refuse("list the readers of a conversation", err)
	}
	all := readersReply{Readers: []readerReply{}}
	for _, n := range notes {
		all.Readers = append(all.Readers, readerReply{n.About, n.Text})
	}
	return all, nil
}

// grant lets a visitor open a conversation: PUT …/readers/{reader}.
func (d door) grant(_ http.ResponseWriter, r *http.Request) (any, *refusal) {
	return d.setReader(r, readerGranted)
}

// revoke takes that away: DELETE …/readers/{reader}.
func (d door) revoke(_ http.ResponseWriter, r *http.Request) (any, *refusal) {
	return d.setReader(r, "")
}

// setReader notes how a visitor became a reader of a conversation; empty: they are none.
func (d door) setReader(r *http.Request, how string) (any, *refusal) {
	room, no := d.owned(r)
	if no != nil {
		return nil, no
	}
	who := r.PathValue("reader")
	if !strings.HasPrefix(who, Name+"/user/") && !strings.HasPrefix(who, Name+"/visitor/") && !strings.HasPrefix(who, Name+"/key/") || len(who) > maxReader {
		return nil, refused(http.StatusBadRequest, "A reader is an account, a visitor or a key of the web chat, such as web/user/ada.")
	}
	if err := d.note(r.Context(), room.ID, chat.EntityID(who), how, time.Time{}); err != nil {
		return nil, d.web.failures.refuse("change the readers of a conversation", err)
	}
	return okReply{true}, nil
}

// maxReader is the maximum length of a reader's id in bytes.
const maxReader = 400

// okReply is the reply to a request that only succeeds.
type okReply struct {
	OK bool `json:"ok"`
}

// owned returns the conversation of a request if the owner makes it. For others there is no such route.
func (d door) owned(r *http.Request) (chat.Room, *refusal) {
	if !readerOf(r).owner {
		return chat.Room{}, refused(http.StatusNotFound, "refused.not_found")
	}
	return d.conversation(r, r.PathValue("id"))
}

const maxSmall = 16 << 10 // bytes of a body with a few fields

// readSmall decodes a body with a few fields. form describes it in the sentence of a refusal.
func readSmall(rw http.ResponseWriter, r *http.Request, into any, form string) *refusal {
	if no := checkJSON(r, maxSmall); no != nil {
		return no.unread(r.Body)
	}
	dec := json.NewDecoder(&jsonBounds{r: http.MaxBytesReader(rw, r.Body, maxSmall)})
	if err := dec.Decode(into); err != nil {
		return refuse(err, "The request must be the JSON object "+form+".").unread(r.Body)
	}
	return nil
}
