package web

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parley/core"
)

// shown is how many messages a reload shows.
const shown = 200

// roomOf is the room of a conversation. Whoever knows the id may read and write there: it has 128 random bits.
func roomOf(id string) core.RoomID { return core.RoomID(Name + "/" + id) }

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func (w *Web) open(rw http.ResponseWriter, r *http.Request) {
	if !w.allow(rw, r, w.openings) {
		return
	}
	id := newID()
	room := core.Room{
		ID: roomOf(id), Kind: core.API, Connector: Name, Created: time.Now(),
		Address: core.Address{Connector: Name, Room: roomOf(id)},
	}
	if err := w.opts.Store.SaveRoom(r.Context(), room); err != nil {
		w.broken(rw, "open a conversation", err)
		return
	}
	reply(rw, http.StatusCreated, map[string]any{"conversation": map[string]any{
		"id": id, "createdAt": room.Created.UTC().Format(time.RFC3339),
	}})
}

// room finds the conversation that the request names, or answers the request.
func (w *Web) room(rw http.ResponseWriter, r *http.Request) (core.Room, bool) {
	room, err := w.opts.Store.Room(r.Context(), roomOf(r.PathValue("id")))
	switch {
	case errors.Is(err, core.ErrNotFound):
		fail(rw, http.StatusNotFound, "Conversation not found.")
	case err != nil:
		w.broken(rw, "find a conversation", err)
	}
	return room, err == nil
}

// message is one line of a conversation as a reload shows it.
type message struct {
	ID              string           `json:"id"`
	Role            string           `json:"role"`
	Text            string           `json:"text"`
	Timestamp       int64            `json:"timestamp"` // milliseconds since 1970
	ClientMessageID string           `json:"clientMessageId,omitempty"`
	ReplyTo         string           `json:"replyToMessageId,omitempty"`
	Files           []attached       `json:"files,omitempty"` // what came with it
	History         []string         `json:"actionCallbackHistory,omitempty"`
	Tools           []frame          `json:"tools,omitempty"`
	Interrupted     bool             `json:"interrupted,omitempty"`
	FailureKind     core.FailureKind `json:"failureKind,omitempty"`
	Choices         *core.Offer      `json:"choices,omitempty"` // what people may still choose from
}

func (w *Web) history(rw http.ResponseWriter, r *http.Request) {
	room, ok := w.room(rw, r)
	if !ok {
		return
	}
	recent, err := w.recent(r.Context(), room.ID)
	if err != nil {
		w.broken(rw, "read a conversation", err)
		return
	}
	offers, err := w.offers(r.Context(), room.ID)
	if err != nil {
		w.broken(rw, "read what is asked", err)
		return
	}
	out := make([]message, 0, len(recent))
	for _, m := range recent {
		line := message{
			ID: string(m.ID), Role: "assistant", Text: m.Text, Timestamp: m.At.UnixMilli(), ReplyTo: string(m.InReplyTo),
			History: m.History, Tools: pastTools(m), Interrupted: m.Interrupted, FailureKind: m.Failure, Choices: offers[m.ID],
		}
		if m.Author != core.EntityID(w.opts.Agent.ID) {
			line.Role, line.Files = "user", attachedTo(m)
			if key, ok := strings.CutPrefix(string(m.ID), string(room.ID)+"/"); ok { // others are choices that were pressed
				line.ClientMessageID = key
			}
		}
		out = append(out, line)
	}
	reply(rw, http.StatusOK, map[string]any{"messages": out})
}

func (w *Web) stop(rw http.ResponseWriter, r *http.Request) {
	room, ok := w.room(rw, r)
	if !ok {
		return
	}
	if _, err := w.submit(r.Context(), core.Command{Room: room.ID, Author: visitor(room.ID), Name: core.Stop}); err != nil {
		w.broken(rw, "stop an answer", err)
		return
	}
	reply(rw, http.StatusOK, map[string]any{"ok": true})
}

// clear forgets what was said. The conversation itself stays: whoever has it open may go on.
func (w *Web) clear(rw http.ResponseWriter, r *http.Request) {
	room, ok := w.room(rw, r)
	if !ok {
		return
	}
	acc, err := w.submit(r.Context(), core.Cleared{Room: room.ID})
	if err != nil {
		w.broken(rw, "clear a conversation", err)
		return
	}
	reply(rw, http.StatusOK, map[string]any{"ok": true, "deletedCount": acc.Deleted})
}

// allow charges the request to its address, or answers it.
func (w *Web) allow(rw http.ResponseWriter, r *http.Request, l *limiter) bool {
	wait := l.take(w.guard.client(r))
	if wait == 0 {
		return true
	}
	retryLater(rw, wait)
	fail(rw, http.StatusTooManyRequests, "That was a lot at once. Please wait a moment.")
	return false
}

// broken answers a request that failed for a reason of ours: the log gets it, people a sentence.
func (w *Web) broken(rw http.ResponseWriter, what string, err error) {
	if errors.Is(err, core.ErrShutdown) {
		retryLater(rw, time.Second)
		fail(rw, http.StatusServiceUnavailable, "The gateway is restarting. Please try again.")
		return
	}
	w.opts.Log.Error("a web request failed", "what", what, "err", err)
	fail(rw, http.StatusServiceUnavailable, "The gateway could not store this. Please try again.")
}

func retryLater(rw http.ResponseWriter, wait time.Duration) {
	rw.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
}

func reply(rw http.ResponseWriter, status int, body any) {
	rw.Header().Set("Content-Type", "application/json; charset=utf-8")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(body) // the reader has gone: nobody to tell
}

func fail(rw http.ResponseWriter, status int, sentence string) {
	reply(rw, status, map[string]any{"error": sentence})
}
