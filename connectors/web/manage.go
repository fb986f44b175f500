package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"parley/connectors/web/dialect"
	"parley/core/chat"
	"parley/core/text"
)

const (
	maxTitle    = 120  // characters
	firstTitle  = 60   // characters of a title that is made of the first message
	maxReason   = 1000 // characters of the reason of a rating
	maxExported = 2000 // messages of an export, the newest
)

// manageAPI is the part of the web API that changes, rates and exports conversations.
type manageAPI struct{ web *Web }

// renameRequest is the new title of a conversation.
type renameRequest struct {
	Title string `json:"title"`
}

// rename sets the title of a conversation: PATCH /api/conversations/{id}.
func (a manageAPI) rename(rw http.ResponseWriter, r *http.Request) (any, *refusal) {
	var body renameRequest
	room, _, no := a.changes(rw, r, &body, `{"title": …}`)
	title := text.OneLine(body.Title, maxTitle+1)
	switch {
	case no != nil:
		return nil, no
	case strings.TrimSpace(title) == "":
		return nil, refused(http.StatusBadRequest, "title is required.").unread(r.Body)
	case len([]rune(title)) > maxTitle:
		return nil, refused(http.StatusRequestEntityTooLarge, "refused.title").unread(r.Body)
	}
	if err := a.web.opts.Store.SaveNote(r.Context(), chat.RoomNote{Room: room.ID, Kind: chat.TitleNote, Text: title, At: time.Now()}); err != nil {
		return nil, a.web.failures.refuse("rename a conversation", err)
	}
	return okReply{true}, nil
}

// changes returns the conversation that a request changes, and the message if it names one, and reads its body; see [readSmall].
func (a manageAPI) changes(rw http.ResponseWriter, r *http.Request, body any, form string) (room chat.Room, m chat.Memory, no *refusal) {
	room, no = door(a).conversation(r, r.PathValue("id"))
	if no == nil && r.PathValue("message") != "" {
		m, no = a.message(r, room.ID)
	}
	if no == nil {
		no = a.web.charge(r, a.web.attempts)
	}
	if no == nil {
		no = readSmall(rw, r, body, form)
	}
	return room, m, no
}

// title returns the title of a conversation. If there is none, it is made of the first message: the store deletes it with a change of that.
func (d door) title(ctx context.Context, room chat.RoomID) (string, error) {
	own, err := d.web.opts.Store.Notes(ctx, room, chat.TitleNote, 1)
	if err == nil && len(own) > 0 {
		return own[0].Text, nil
	}
	var recent []chat.Memory
	if err == nil {
		recent, err = d.web.recent(ctx, room)
	}
	i := slices.IndexFunc(recent, func(m chat.Memory) bool { return !d.web.opts.wrote(m) && dialect.Own(m.Text) != "" })
	if i < 0 {
		return "", err
	}
	m := recent[i]
	title := text.Brief(dialect.Own(m.Text), firstTitle)
	err = d.web.opts.Store.SaveNote(ctx, chat.RoomNote{Room: room, Kind: chat.TitleNote, Text: title, First: m.ID, Last: m.ID, At: time.Now()})
	return title, chat.Unless(err, chat.ErrNotFound) // it was deleted meanwhile
}

// message returns the message that the request names.
func (a manageAPI) message(r *http.Request, room chat.RoomID) (chat.Memory, *refusal) {
	m, err := door(a).message(r, room)
	switch {
	case errors.Is(err, chat.ErrNotFound):
		return m, refused(http.StatusNotFound, "refused.no_message")
	case err != nil:
		return m, a.web.failures.refuse("find a message", err)
	}
	return m, nil
}

// message returns the message that the request names, or [chat.ErrNotFound] if it is not in the room.
func (d door) message(r *http.Request, room chat.RoomID) (chat.Memory, error) {
	m, err := d.web.opts.Store.Memory(r.Context(), chat.MemoryID(r.PathValue("message")))
	if err == nil && m.Room != room {
		err = chat.ErrNotFound
	}
	return m, err
}

// againRequest is the new text of a message; empty: the same.
type againRequest struct {
	Text      string `json:"text,omitempty"`
	Reasoning bool   `json:"reasoning,omitempty"`
}

// again answers a message of the reader again, with another text or the same, and streams the answer: POST …/again/stream. Only
// the last one can be answered again, unless its answer has done something.
func (a manageAPI) again(rw http.ResponseWriter, r *http.Request) {
	var body againRequest
	room, m, no := a.changes(rw, r, &body, `{"text": …}`)
	if no == nil && len([]rune(body.Text)) > maxText {
		no = refused(http.StatusRequestEntityTooLarge, "refused.message_too_long").unread(r.Body)
	}
	var payer chat.EntityID
	if no == nil {
		payer, no = door(a).payer(r)
	}
	if no == nil {
		no = a.mayAskAgain(r, m)
	}
	var acc chat.Accepted
	if no == nil {
		acc, no = a.answerAgain(r, room, payer, m, body.Text)
	}
	if no == nil && acc.Run == "" && !acc.Relayed {
		no = refused(http.StatusConflict, "refused.only_last")
	}
	if no != nil {
		no.reply(rw)
		return
	}
	defer a.web.reading()()
	acc.Duplicate = true // the client may have the text of the answer before
	a.web.stream(rw, r, room.ID, acc, wishes{reasoning: body.Reasoning, details: readerOf(r).details})
}

// mayAskAgain refuses to answer a message of another author again, and too many requests.
func (a manageAPI) mayAskAgain(r *http.Request, m chat.Memory) *refusal {
	mine, err := door(a).asked(r, m)
	switch {
	case err != nil:
		return a.web.failures.refuse("find the readers of a conversation", err)
	case !mine:
		return refused(http.StatusForbidden, "refused.only_own")
	}
	return a.web.charge(r, a.web.messages)
}

// answerAgain answers a message again, with other words if they are not blank. Instructions that a client has quoted in the message
// stay. There is no run if only a new message can be answered.
func (a manageAPI) answerAgain(r *http.Request, room chat.Room, payer chat.EntityID, m chat.Memory, words string) (chat.Accepted, *refusal) {
	who := readerOf(r)
	edit := chat.Edited{Again: true, Message: chat.Message{Memory: m, Place: room, Address: chat.Address{
		Connector: Name, Room: room.ID, ReplyTo: m.ID, BilledTo: payer, Details: who.details,
	}}}
	mine, err := door(a).asked(r, m)
	if err != nil {
		return chat.Accepted{}, a.web.failures.refuse("find the readers of a conversation", err)
	}
	if !mine {
		edit.Author = who.author(room.ID)
	}
	if strings.TrimSpace(words) != "" {
		edit.Text = words
		if _, quoted := text.SplitForwarded(m.Text); quoted != "" && !strings.Contains(words, quoted) {
			edit.Text += "\n\n" + quoted
		}
	}
	acc, err := a.web.submit(r.Context(), edit)
	switch {
	case err != nil:
		return acc, a.web.failures.refuse("answer a message again", err)
	case acc.Refused != "":
		return acc, refused(http.StatusConflict, acc.Refused)
	}
	return acc, nil
}

// asked reports whether the reader of r has written m: also before they signed in, as the anonymous visitor whose conversation
// it was.
func (d door) asked(r *http.Request, m chat.Memory) (bool, error) {
	who := readerOf(r)
	if m.Author == who.author(m.Room) || !who.account || m.Author != visitor(m.Room) {
		return m.Author == who.author(m.Room), nil
	}
	readers, err := d.web.opts.Store.Notes(r.Context(), m.Room, chat.ReaderNote, chat.MaxNotes)
	return slices.ContainsFunc(readers, func(n chat.RoomNote) bool { return n.Key == string(who.id) && n.Text != readerGranted }), err
}

// rating is the reader's opinion on an answer, as it is stored.
type rating struct {
	Rating string `json:"rating"` // up, down, or none to remove it
	Reason string `json:"reason,omitempty"`
}

// rate stores the reader's opinion on an answer: PUT …/feedback. It is deleted with the answer.
func (a manageAPI) rate(rw http.ResponseWriter, r *http.Request) (any, *refusal) {
	var body rating
	room, m, no := a.changes(rw, r, &body, `{"rating": "up", "reason": …}`)
	switch {
	case no != nil:
		return nil, no
	case body.Rating != "up" && body.Rating != "down" && body.Rating != "none":
		return nil, refused(http.StatusBadRequest, "rating is up, down or none.").unread(r.Body)
	case len([]rune(body.Reason)) > maxReason:
		return nil, refused(http.StatusRequestEntityTooLarge, "refused.reason").unread(r.Body)
	case !a.web.opts.wrote(m):
		return nil, refused(http.StatusConflict, "refused.only_answers").unread(r.Body)
	}
	who := readerOf(r).author(room.ID)
	note := chat.RoomNote{Room: room.ID, Kind: chat.FeedbackNote, Key: string(m.ID) + " " + string(who), About: who, First: m.ID, Last: m.ID, At: time.Now()}
	if body.Rating != "none" {
		body.Reason = text.Visible(body.Reason)
		stored, err := json.Marshal(body)
		if err != nil {
			return nil, a.web.failures.refuse("encode a rating", err)
		}
		note.Text = string(stored)
	}
	if err := a.web.opts.Store.SaveNote(r.Context(), note); err != nil {
		return nil, a.web.failures.refuse("store a rating", err)
	}
	if a.web.opts.Rated != nil {
		a.web.opts.Rated(m, who, body.Rating, body.Reason)
	}
	return okReply{true}, nil
}

// ratings returns the reader's ratings in a room, by the id of the message.
func (d door) ratings(r *http.Request, room chat.RoomID) (map[chat.MemoryID]*rating, error) {
	notes, err := d.web.opts.Store.Notes(r.Context(), room, chat.FeedbackNote, chat.MaxNotes)
	all := map[chat.MemoryID]*rating{}
	for _, n := range notes {
		var is rating
		if n.About == readerOf(r).author(room) && json.Unmarshal([]byte(n.Text), &is) == nil {
			all[n.First] = &is
		}
	}
	return all, err
}

// export sends the conversation as a file: GET …/export, as Markdown with the title as heading, or as JSON with ?format=json.
func (a manageAPI) export(rw http.ResponseWriter, r *http.Request) {
	room, ok := a.web.room(rw, r)
	if !ok {
		return
	}
	format := r.URL.Query().Get("format")
	if format != "" && format != "json" && format != "markdown" {
		fail(rw, http.StatusBadRequest, "format must be markdown or json.")
		return
	}
	who := caller{from: a.web.guard.client(r)}
	if !a.web.building.take(who, 1) {
		a.web.broken(rw, "export a conversation", errCrowded)
		return
	}
	defer a.web.building.give(who, 1)
	all, err := a.web.opts.Store.Recent(r.Context(), room.ID, chat.Said, 0, maxExported)
	if err != nil {
		a.web.broken(rw, "export a conversation", err)
		return
	}
	title, err := door(a).title(r.Context(), room.ID)
	if err != nil {
		a.web.broken(rw, "export the title of a conversation", err)
		return
	}
	h := rw.Header()
	if format == "json" {
		rated, err := door(a).ratings(r, room.ID)
		if err != nil {
			a.web.broken(rw, "export the ratings of a conversation", err)
			return
		}
		out := exported{Title: title, Messages: []message{}}
		for _, m := range all {
			line := a.web.line(room.ID, m, readerOf(r), nil)
			line.Feedback = rated[m.ID]
			out.Messages = append(out.Messages, line)
		}
		h.Set("Content-Disposition", `attachment; filename="conversation.json"`)
		reply(rw, http.StatusOK, out)
		return
	}
	h.Set("Content-Type", "text/markdown; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="conversation.md"`)
	if title != "" {
		_, _ = fmt.Fprintf(rw, "# %s\n", title) // the next write fails too
	}
	for _, m := range all {
		if m.WriteMarkdown(rw, a.writer(m)) != nil {
			return // the reader has disconnected
		}
	}
}

// exported is a conversation as JSON, with messages as in the list of messages.
type exported struct {
	Title    string    `json:"title,omitempty"` // only of an export
	Messages []message `json:"messages"`
}

// writer returns the name of who wrote a message.
func (a manageAPI) writer(m chat.Memory) string {
	switch {
	case a.web.opts.wrote(m):
		return a.web.opts.Agent.Name
	case m.Name != "":
		return m.Name
	}
	return "You"
}
