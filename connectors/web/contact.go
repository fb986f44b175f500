package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"parley/core/chat"
	"parley/core/text"
)

const (
	maxContact      = 2000 // characters of a message to the owners
	maxReplyTo      = 200  // characters of the address for the reply
	contactsPerHour = 5    // of a visitor; all visitors of an address have office times as many
	contactsOfAll   = 60   // of all visitors, per hour, so that a flood does not fill the owners' chats
)

// Contact is a message that a visitor leaves for the owners, because the agent can't answer.
type Contact struct {
	Key     string // the same for the same request again
	ReplyTo string // an address of any kind, as the visitor wrote it: one line
	Text    string // also one line
}

// contactAPI passes messages of visitors on to the owners.
type contactAPI struct{ web *Web }

type contactRequest struct {
	Address         string `json:"address"`
	Text            string `json:"text"`
	ClientMessageID string `json:"clientMessageId,omitempty"`
}

func (a contactAPI) endpoints() []endpoint {
	return []endpoint{{route: "POST /api/contact", serve: answering(a.leave), about: "Passes a message on to the owners", in: contactRequest{}, out: okReply{}}}
}

// leave is POST /api/contact. The same request again is passed on once.
func (a contactAPI) leave(rw http.ResponseWriter, r *http.Request) (any, *refusal) {
	var body contactRequest
	no := a.web.charge(r, a.web.attempts)
	if no == nil {
		no = readSmall(rw, r, &body, `{"address": …, "text": …}`)
	}
	if no != nil {
		return nil, no
	}
	address, said := text.OneLine(body.Address, maxReplyTo+1), text.OneLine(body.Text, maxContact+1)
	switch {
	case address == "", said == "":
		return nil, refused(http.StatusBadRequest, "refused.contact_empty")
	case utf8.RuneCountInString(address) > maxReplyTo, utf8.RuneCountInString(said) > maxContact:
		return nil, refused(http.StatusRequestEntityTooLarge, "refused.message_too_long")
	}
	sender, err := clients(a).space(r)
	if err != nil {
		return nil, a.web.failures.refuse("pass a visitor's message on", err)
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{sender, body.ClientMessageID, address, said}, "\x00")))
	return okReply{true}, a.pass(r, Contact{hex.EncodeToString(sum[:16]), address, said})
}

// pass counts a message, and passes it on.
func (a contactAPI) pass(r *http.Request, c Contact) *refusal {
	if no := a.web.charge(r, a.web.contacts); no != nil {
		return no
	}
	if wait := a.web.allContacts.take(caller{}); wait > 0 {
		door(a).refund(r, a.web.contacts)
		return tooMany(wait)
	}
	err := chat.ErrUnreached
	if a.web.opts.Contact != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), goodbye) // a visitor who leaves has left it
		defer cancel()
		err = a.web.opts.Contact(ctx, c)
	}
	if err == nil {
		return nil
	}
	door(a).refund(r, a.web.contacts)
	a.web.allContacts.refund(caller{}, contactsOfAll)
	if !errors.Is(err, chat.ErrUnreached) {
		return a.web.failures.refuse("pass a visitor's message on", err)
	}
	a.web.failures.note("pass a visitor's message on: no owner has written to the agent in a direct chat", err)
	no := refused(http.StatusServiceUnavailable, "refused.contact")
	no.wait = time.Hour
	return no
}
