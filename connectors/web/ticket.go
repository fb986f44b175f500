package web

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"parley/connectors"
	"parley/connectors/web/identity"
	"parley/connectors/web/login"
)

const (
	ticketPrefix = "ticket_"
	ticketTime   = 30 * time.Second
	maxTicketed  = 4 << 10 // bytes of the Authorization that a ticket stands for: it must fit in a header again
	usedName     = "web/tickets used "
)

// tickets records the used tickets, and conversations that are just being taken over, for all processes with one store. It is safe for concurrent use.
type tickets struct {
	memo connectors.SharedState
	mu   sync.Mutex // requests of this process don't contend for the store
}

// used is a ticket that was used. It is deleted when the ticket would have expired.
type used struct {
	Nonce string
	Ends  time.Time
}

// use reports whether a ticket was not used before. The tickets are divided among 256 stored lists, which bounds each.
func (t *tickets) use(ctx context.Context, nonce []byte, ends time.Time) (first bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	is := used{hex.EncodeToString(nonce), ends}
	err = login.Change(ctx, t.memo, usedName+is.Nonce[:2], func(all *[]used) error {
		*all = slices.DeleteFunc(slices.Clone(*all), func(u used) bool { return time.Since(u.Ends) > ticketTime })
		first = !slices.ContainsFunc(*all, func(u used) bool { return u.Nonce == is.Nonce })
		if first {
			*all = append(*all, is)
		}
		return nil
	})
	return first, err
}

// ticketReply is the reply to a request for a ticket.
type ticketReply struct {
	Ticket visitorToken `json:"ticket"`
}

// ticket gives the sender a ticket for one socket: POST /api/ticket. Scripts of browsers can't set the headers of sockets. The
// ticket is the encrypted Authorization of the request, so a socket has the same rights, and no others.
func (d socketAPI) ticket(_ http.ResponseWriter, r *http.Request) (any, *refusal) {
	if no := d.web.charge(r, d.web.reads); no != nil {
		return nil, no
	}
	token := r.Header.Get("Authorization")
	if len(token) > maxTicketed {
		return nil, refused(http.StatusRequestEntityTooLarge, "This token is too long for a ticket.")
	}
	seal, err := d.web.visitors.Cipher(r.Context(), "ticket")
	if err != nil {
		return nil, d.web.failures.refuse("make a ticket", err)
	}
	ends := time.Now().Add(ticketTime)
	nonce := random(seal.NonceSize())
	sealed := seal.Seal(nonce, nonce, append(binary.BigEndian.AppendUint64(nil, uint64(ends.UnixMilli())), token...), nil)
	return created{ticketReply{visitorToken{ticketPrefix + base64.RawURLEncoding.EncodeToString(sealed), ends.UTC()}}}, nil
}

// admitTicket replaces the Authorization of a request for a socket by that of its ticket, which is a subprotocol, because addresses
// are logged by proxies.
func (d socketAPI) admitTicket(r *http.Request) *refusal {
	for _, name := range websocket.Subprotocols(r) {
		ticket, ok := strings.CutPrefix(name, ticketPrefix)
		if !ok {
			continue
		}
		token, no := d.redeem(r, ticket)
		if no != nil {
			return no
		}
		if r.Header.Del("Authorization"); token != "" {
			r.Header.Set("Authorization", token)
		}
	}
	return nil
}

// redeem returns the Authorization that a ticket stands for, once.
func (d socketAPI) redeem(r *http.Request, ticket string) (token string, no *refusal) {
	seal, err := d.web.visitors.Cipher(r.Context(), "ticket")
	if err != nil {
		return "", d.web.failures.refuse("redeem a ticket", err)
	}
	raw, err := base64.RawURLEncoding.DecodeString(ticket)
	if err != nil || len(raw) < seal.NonceSize() {
		return "", door(d).unknown(r, identity.ErrUnknown, "")
	}
	nonce := raw[:seal.NonceSize()]
	plain, err := seal.Open(nil, nonce, raw[len(nonce):], nil)
	if err != nil || len(plain) < 8 {
		return "", door(d).unknown(r, identity.ErrUnknown, "")
	}
	ends := time.UnixMilli(int64(binary.BigEndian.Uint64(plain)))
	first, err := d.web.tickets.use(r.Context(), nonce, ends)
	switch {
	case err != nil:
		return "", d.web.failures.refuse("redeem a ticket", err)
	case !first || !time.Now().Before(ends):
		return "", door(d).unknown(r, identity.ErrUnknown, "")
	}
	return string(plain[8:]), nil
}
