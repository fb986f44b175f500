package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"parley/connectors"
	"parley/connectors/web/login"
	"parley/core/chat"
	"parley/core/text"
	guarded "parley/internal/guard"
	"parley/internal/lang"
	"parley/internal/signature"
	"parley/internal/version"
)

const (
	maxContact      = 2000 // characters of a message to the owners
	maxReplyTo      = 200  // characters of the address for the reply
	contactsPerHour = 5    // of a visitor; all visitors of an address have office times as many
	contactsOfAll   = 60   // of all visitors, per hour, so that a flood does not fill the owners' chats

	outboxName = "web/contacts" // of the stored messages for [ContactHook]; it must not change
	maxOutbox  = 100
	outboxTime = 24 * time.Hour // older messages are dropped
)

// Contact is a message that a visitor leaves for the owners, because the agent can't answer. Its JSON is for [ContactHook].
type Contact struct {
	Key     string    `json:"key"`     // the same for the same request again
	ReplyTo string    `json:"address"` // an address of any kind, as the visitor wrote it: one line
	Text    string    `json:"text"`    // also one line
	Time    time.Time `json:"time"`
	Locale  string    `json:"locale"` // the language of the visitor's chat
	Page    string    `json:"page,omitempty"`
}

// ContactHook is the owner's endpoint for visitors' messages: on the public internet, or with http on this machine. The zero value is none.
type ContactHook struct {
	URL    string
	Secret string // signs the requests; empty: unsigned
	Dial   connectors.Dialer
}

// contactAPI passes messages of visitors on to the owners.
type contactAPI struct{ web *Web }

type contactRequest struct {
	Address         string `json:"address"`
	Text            string `json:"text"`
	ClientMessageID string `json:"clientMessageId,omitempty"`
	Page            string `json:"page,omitempty"`
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
	locale := lang.In(r.Header.Get("Accept-Language")).Tag()
	return okReply{true}, a.pass(r, Contact{hex.EncodeToString(sum[:16]), address, said, time.Now().UTC().Truncate(time.Second), locale, text.OneLine(body.Page, maxSite)})
}

// pass counts a message, and passes it on. The hook gets it later, unless no owner can be reached: then the visitor waits.
func (a contactAPI) pass(r *http.Request, c Contact) *refusal {
	if no := a.web.charge(r, a.web.contacts); no != nil {
		return no
	}
	if wait := a.web.allContacts.take(caller{}); wait > 0 {
		door(a).refund(r, a.web.contacts)
		return tooMany(wait)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), goodbye) // a visitor who leaves has left it
	defer cancel()
	err := chat.ErrUnreached
	if a.web.opts.Contact != nil {
		err = a.web.opts.Contact(ctx, c)
	}
	switch {
	case a.web.opts.ContactHook.URL == "":
	case err == nil:
		err = a.store(ctx, c, true)
	case errors.Is(err, chat.ErrUnreached):
		if err = a.send(ctx, c); err != nil {
			err = errors.Join(chat.ErrUnreached, err)
		}
	}
	if err == nil {
		if a.web.opts.Left != nil {
			a.web.opts.Left(c)
		}
		return nil
	}
	door(a).refund(r, a.web.contacts)
	a.web.allContacts.refund(caller{}, contactsOfAll)
	if !errors.Is(err, chat.ErrUnreached) {
		return a.web.failures.refuse("pass a visitor's message on", err)
	}
	a.web.failures.note("pass a visitor's message on: no owner has written to the agent in a direct chat, and web.contact_url did not take it", err)
	no := refused(http.StatusServiceUnavailable, "refused.contact")
	no.wait = time.Hour
	return no
}

// store adds a message to those for the hook, or removes it.
func (a contactAPI) store(ctx context.Context, c Contact, add bool) error {
	return login.Change(ctx, a.web.opts.Memo, outboxName, func(all *[]Contact) error {
		*all = slices.DeleteFunc(*all, func(other Contact) bool { return other.Key == c.Key })
		if add {
			*all = append((*all)[max(0, len(*all)+1-maxOutbox):], c)
		}
		return nil
	})
}

// send sends a message to the hook, and removes it from the store once the hook has received it.
func (a contactAPI) send(ctx context.Context, c Contact) error {
	hook := a.web.opts.ContactHook
	body, _ := json.Marshal(c) // never fails
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, hook.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {c.Key}, "User-Agent": {version.UserAgent}}
	signature.Add(req.Header, hook.Secret, body)
	res, err := guarded.New(guarded.Options{Dial: hook.Dial, Trusted: "http://" + req.URL.Host}).Send(req) // with http the host is this machine
	if err == nil {
		if _ = res.Body.Close(); res.StatusCode/100 == 2 {
			return a.store(ctx, c, false)
		}
		err = fmt.Errorf("it answered %d", res.StatusCode)
	}
	return fmt.Errorf("send to web.contact_url: %w", err)
}

// sendStored sends the stored messages to the hook, also those of processes that died. It removes those that are too old, and all without a hook.
func (a contactAPI) sendStored(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, eraseAgain)
	defer cancel()
	all, err := login.Read[[]Contact](ctx, a.web.opts.Memo, outboxName)
	hooked := a.web.opts.ContactHook.URL != ""
	for _, c := range all {
		if hooked && time.Since(c.Time) < outboxTime {
			err = errors.Join(err, a.send(ctx, c))
		} else {
			err = errors.Join(err, a.store(ctx, c, false))
		}
	}
	if err != nil && hooked && !errors.Is(err, context.Canceled) {
		a.web.failures.note("send visitors' messages on", err)
	}
}
