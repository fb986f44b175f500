package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"parley/core/chat"
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

// identified finds out who makes a request and passes it on with that, or has refuse answer it.
func (d door) identified(next http.Handler, refuse func(http.ResponseWriter, *refusal)) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		who, no := d.identify(r)
		if no != nil {
			refuse(rw, no)
			return
		}
		next.ServeHTTP(rw, r.WithContext(context.WithValue(r.Context(), readerKey{}, who)))
	})
}

// identify returns who makes a request: the owner, by the local token or by a session of a browser, or a visitor. A token
// that is wrong, or that does not come from this machine, is refused, because the sender does not want to be a visitor.
func (d door) identify(r *http.Request) (reader, *refusal) {
	who := reader{details: d.web.private && !forwarded(r)}
	_, sent := r.Header["Authorization"]
	switch hook := strings.HasPrefix(r.URL.Path, "/api/hooks/"); {
	case hook: // it has secrets of its own
	case sent && strings.HasPrefix(r.URL.Path, "/v1/") && who.details && !d.web.trusted(r):
		// Clients of OpenAI's API send some key, also to a gateway on their own machine.
	case sent && !d.web.trusted(r):
		return who, refused(http.StatusUnauthorized, "The gateway does not know this token.")
	case sent:
		who = reader{owner: true, details: true}
	default:
		_, err := d.web.session(r)
		if chat.Unless(err, chat.ErrNotFound) != nil {
			return who, d.web.failures.refuse("find a session", err)
		}
		if err == nil {
			who = reader{owner: true, details: true}
		}
	}
	return who, nil
}

// conversation returns a conversation that the reader of r may open. To all others it does not exist.
func (d door) conversation(r *http.Request, id string) (chat.Room, *refusal) {
	room, err := d.web.opts.Store.Room(r.Context(), roomOf(id))
	switch {
	case errors.Is(err, chat.ErrNotFound):
		return room, refused(http.StatusNotFound, "Conversation not found.")
	case err != nil:
		return room, d.web.failures.refuse("find a conversation", err)
	}
	return room, nil
}

// create opens a conversation of the reader of r. Its id can be made of what the client and the reader are called, so that a
// client that chooses ids finds it again; see [newID] otherwise.
func (d door) create(r *http.Request, id string) (chat.Room, *refusal) {
	room := chat.Room{
		ID: roomOf(id), Kind: chat.API, Connector: Name, Created: time.Now(),
		Address: chat.Address{Connector: Name, Room: roomOf(id)},
	}
	if err := d.web.opts.Store.SaveRoom(r.Context(), room); err != nil {
		return room, d.web.failures.refuse("open a conversation", err)
	}
	return room, nil
}
