package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"parley/connectors/web/identity"
	"parley/core/chat"
)

// mint gives an anonymous visitor a token: POST /api/visitors. With a token, it renews that. The gateway's own page gets it as
// a cookie too, for links to files.
func (d door) mint(rw http.ResponseWriter, r *http.Request) {
	who := readerOf(r)
	if !d.web.allow(rw, r, d.web.minted) {
		return
	}
	id, _ := strings.CutPrefix(string(who.id), Name+"/visitor/")
	if who.known || who.owner {
		id = ""
	}
	token, ends, err := d.web.visitors.Mint(r.Context(), id)
	if err != nil {
		d.web.broken(rw, "make a visitor's token", err)
		return
	}
	if firstParty(r) && ownOrigin(r) {
		http.SetCookie(rw, pageCookie(r, visitorCookie, token, identity.VisitorTime))
	}
	reply(rw, http.StatusCreated, mintReply{visitorToken{token, ends}})
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
func (d door) adopt(rw http.ResponseWriter, r *http.Request) {
	who := readerOf(r)
	if !who.account {
		needsIdentity("Please sign in first.").reply(rw)
		return
	}
	if !d.web.allow(rw, r, d.web.attempts) {
		return
	}
	var body adoptRequest
	if no := readSmall(rw, r, &body, "{\"visitorToken\": …}"); no != nil {
		refuseBody(rw, r.Body, no)
		return
	}
	id, _, err := d.web.visitors.Verify(r.Context(), body.VisitorToken)
	if errors.Is(err, identity.ErrUnknown) || errors.Is(err, identity.ErrExpired) {
		fail(rw, http.StatusUnprocessableEntity, "These conversations belong to no visitor any more.")
		return
	}
	if err == nil {
		var offered []listed
		if offered, err = d.takeOver(r, chat.EntityID(Name+"/visitor/"+id), body.IDs); err == nil {
			reply(rw, http.StatusOK, listReply{offered})
			return
		}
	}
	d.web.broken(rw, "offer conversations to an account", err)
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
			// The account first: after a crash in between, both can open it, and the visitor can offer it again.
			if err := d.note(r.Context(), n.Room, readerOf(r).id, n.Text, n.Expires); err != nil {
				return nil, err
			}
			if err := d.unread(r, n.Room, from); err != nil {
				return nil, err
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
func (d door) readers(rw http.ResponseWriter, r *http.Request) {
	room, ok := d.owned(rw, r)
	if !ok {
		return
	}
	notes, err := d.web.opts.Store.Notes(r.Context(), room.ID, chat.ReaderNote, chat.MaxNotes)
	if err != nil {
		d.web.broken(rw, "list the readers of a conversation", err)
		return
	}
	all := readersReply{Readers: []readerReply{}}
	for _, n := range notes {
		all.Readers = append(all.Readers, readerReply{n.About, n.Text})
	}
	reply(rw, http.StatusOK, all)
}

// grant lets a visitor open a conversation: PUT …/readers/{reader}.
func (d door) grant(rw http.ResponseWriter, r *http.Request) { d.setReader(rw, r, readerGranted) }

// revoke takes that away: DELETE …/readers/{reader}.
func (d door) revoke(rw http.ResponseWriter, r *http.Request) { d.setReader(rw, r, "") }

// setReader notes how a visitor became a reader of a conversation; empty: they are none.
func (d door) setReader(rw http.ResponseWriter, r *http.Request, how string) {
	room, ok := d.owned(rw, r)
	if !ok {
		return
	}
	who := r.PathValue("reader")
	if !strings.HasPrefix(who, Name+"/user/") && !strings.HasPrefix(who, Name+"/visitor/") && !strings.HasPrefix(who, Name+"/key/") || len(who) > maxReader {
		fail(rw, http.StatusBadRequest, "A reader is an account, a visitor or a key of the web chat, such as web/user/ada.")
		return
	}
	if err := d.note(r.Context(), room.ID, chat.EntityID(who), how, time.Time{}); err != nil {
		d.web.broken(rw, "change the readers of a conversation", err)
		return
	}
	reply(rw, http.StatusOK, okReply{true})
}

// maxReader is the maximum length of a reader's id in bytes.
const maxReader = 400

// okReply is the reply to a request that only succeeds.
type okReply struct {
	OK bool `json:"ok"`
}

// owned returns the conversation of a request if the owner makes it, or answers the request. For others there is no such route.
func (d door) owned(rw http.ResponseWriter, r *http.Request) (chat.Room, bool) {
	if !readerOf(r).owner {
		fail(rw, http.StatusNotFound, "Not found.")
		return chat.Room{}, false
	}
	return d.web.room(rw, r)
}

const maxSmall = 16 << 10 // bytes of a body with a few fields

// readSmall decodes a body with a few fields. form describes it in the sentence of a refusal.
func readSmall(rw http.ResponseWriter, r *http.Request, into any, form string) *refusal {
	if no := checkJSON(r, maxSmall); no != nil {
		return no
	}
	dec := json.NewDecoder(&jsonBounds{r: http.MaxBytesReader(rw, r.Body, maxSmall)})
	if err := dec.Decode(into); err != nil {
		return refuse(err, "The request must be the JSON object "+form+".")
	}
	return nil
}
