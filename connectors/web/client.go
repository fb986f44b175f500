package web

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"

	"parley/connectors/web/dialect"
	"parley/core/chat"
)

// clients is the part of the connector that clients of other formats share.
type clients struct{ web *Web }

// accept accepts the message or the choice of a request in another format, or answers the request; then x is nil. read
// converts the body; its error is a sentence without its capital letter and its full stop.
func (c clients) accept(rw http.ResponseWriter, r *http.Request, read func(body []byte) (incoming, error)) (x *exchange, t target) {
	apart(func() {
		data, end, ok := c.readBody(rw, r)
		if !ok {
			return
		}
		defer end()
		in, err := read(data)
		if err != nil {
			fail(rw, http.StatusBadRequest, sentence(err))
			return
		}
		x, t = c.take(rw, r, in)
	})
	return x, t
}

// take is accept for a request that was read.
func (c clients) take(rw http.ResponseWriter, r *http.Request, in incoming) (x *exchange, t target) {
	x = &exchange{clients: c, rw: rw, r: r, brief: in.brief}
	no := c.web.charge(r, c.web.attempts)
	if no == nil {
		x.payer, no = door(c).payer(r)
	}
	if no == nil {
		no = x.find(in)
	}
	switch {
	case no != nil:
	case in.question != "":
		t, no = x.choose(in.question, in.payload)
	default:
		t, no = x.deliver(in)
	}
	if no != nil {
		no.reply(rw)
		return nil, t
	}
	return x, t
}

// sentence returns an error of a dialect as a sentence, without the errors that are joined to it.
func sentence(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// ownID returns the id of the conversation that the sender of r calls id. Clients choose their ids, so an id belongs to its
// sender alone.
func (c clients) ownID(r *http.Request, id string) (string, *refusal) {
	space, err := c.space(r)
	if err != nil {
		return "", c.web.failures.refuse("find a conversation", err)
	}
	size := 16
	if readerOf(r).id != "" {
		size = ownedSize
	}
	sum := sha256.Sum256([]byte(space + "\x00" + id))
	return hex.EncodeToString(sum[:size]), nil
}

// space returns the name of the ids of r's sender: a visitor. Without a token, on a gateway for its own machine all senders are
// one, and elsewhere each address is another one, until the day ends.
func (c clients) space(r *http.Request) (string, error) {
	switch who := readerOf(r); {
	case who.owner:
		return "owner", nil
	case who.id != "":
		return string(who.id), nil
	case who.details:
		return "here", nil
	}
	id, err := c.web.addresses.name(r.Context(), c.web.guard.client(r).String())
	return string(id), err
}

// ownRoom returns the conversation that the sender of r calls id.
func (c clients) ownRoom(r *http.Request, id string) (room chat.Room, no *refusal) {
	name, no := c.ownID(r, id)
	if no != nil {
		return room, no
	}
	return door(c).conversation(r, name)
}

// stop stops the answers of the conversation that the client calls id, and replies with body.
func (c clients) stop(rw http.ResponseWriter, r *http.Request, id string, body any) {
	room, no := c.ownRoom(r, id)
	if no == nil {
		no = door(c).stopAnswers(r, room.ID)
	}
	if no != nil {
		no.reply(rw)
		return
	}
	reply(rw, http.StatusOK, body)
}

// resume continues the stream of the running answer to the newest message: GET …/stream. If none is running, the status is 204.
func (c clients) resume(rw http.ResponseWriter, r *http.Request) {
	acc := chat.Accepted{Duplicate: true}
	var room chat.Room
	var no *refusal
	apart(func() {
		x := &exchange{clients: c, rw: rw, r: r}
		if no = x.loadNamed(r.PathValue("id"), door(c).conversation); no == nil {
			room, acc.Run = x.room, x.current()
		}
	})
	switch {
	case no != nil:
		no.reply(rw)
	case acc.Run == "":
		rw.WriteHeader(http.StatusNoContent)
	default:
		defer c.web.reading()()
		q := r.URL.Query()
		after := q.Get("after")
		c.web.stream(rw, r, room.ID, acc, wishes{reasoning: q.Get("reasoning") == "true", details: readerOf(r).details}.from(&after))
	}
}

// shortID returns the client's id of a message of the user, and the whole id of others.
func shortID(m chat.Memory) string { return strings.TrimPrefix(string(m.ID), string(m.Room)+"/") }

// said returns the author and the text of a stored message, without the quoted texts of others.
func (c clients) said(m chat.Memory) (role, text string) {
	if c.web.opts.wrote(m) {
		return dialect.Assistant, m.Text
	}
	return dialect.User, dialect.Own(m.Text)
}

// readBody returns the body of a request, or answers it. The caller must call end when it no longer needs the body.
func (c clients) readBody(rw http.ResponseWriter, r *http.Request) (data []byte, end func(), ok bool) {
	body := r.Body
	if no := checkJSON(r, maxBody); no != nil {
		refuseBody(rw, body, no)
		return nil, nil, false
	}
	end = c.web.receive(rw, r)
	data, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxBody))
	if err != nil {
		end()
		refuseBody(rw, body, refuse(err, "The body must be a JSON object."))
		return nil, nil, false
	}
	return data, end, true
}
