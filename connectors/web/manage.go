package web

import (
	"encoding/json"
	"errors"
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
func (a manageAPI) rename(rw http.ResponseWriter, r *http.Request) {
	room, ok := a.web.room(rw, r)
	if !ok || !a.web.allow(rw, r, a.web.attempts) {
		return
	}
	var body renameRequest
	no := readSmall(rw, r, &body, `{"title": …}`)
	title := text.OneLine(body.Title, maxTitle+1)
	switch {
	case no != nil:
	case strings.TrimSpace(title) == "":
		no = refused(http.StatusBadRequest, "title is required.")
	case len([]rune(title)) > maxTitle:
		no = refused(http.StatusRequestEntityTooLarge, "A title may be at most 120 characters.")
	}
	if no != nil {
		refuseBody(rw, r.Body, no)
		return
	}
	if err := a.web.opts.Store.SaveNote(r.Context(), chat.RoomNote{Room: room.ID, Kind: chat.TitleNote, Text: title, At: time.Now()}); err != nil {
		a.web.broken(rw, "rename a conversation", err)
		return
	}
	reply(rw, http.StatusOK, okReply{true})
}

// entitle makes the title of a conversation of its first message, unless its reader has named it. It is deleted with that.
func (d door) entitle(r *http.Request, m chat.Memory) error {
	title := text.Brief(dialect.Own(m.Text), firstTitle)
	own, err := d.web.opts.Store.Notes(r.Context(), m.Room, chat.TitleNote, 1)
	if err != nil || title == "" || len(own) > 0 {
		return err
	}
	err = d.web.opts.Store.SaveNote(r.Context(), chat.RoomNote{
		Room: m.Room, Kind: chat.TitleNote, Text: title, First: m.ID, Last: m.ID, At: time.Now(),
	})
	return chat.Unless(err, chat.ErrNotFound) // it was deleted meanwhile
}

// message returns the message that the request names, in the conversation that the reader may open, or answers the request.
func (a manageAPI) message(rw http.ResponseWriter, r *http.Request) (chat.Room, chat.Memory, bool) {
	room, ok := a.web.room(rw, r)
	if !ok {
		return room, chat.Memory{}, false
	}
	m, err := door(a).message(r, room.ID)
	switch {
	case errors.Is(err, chat.ErrNotFound):
		fail(rw, http.StatusNotFound, "Message not found.")
	case err != nil:
		a.web.broken(rw, "find a message", err)
	}
	return room, m, err == nil
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
	room, m, ok := a.message(rw, r)
	if !ok || !a.web.allow(rw, r, a.web.attempts) {
		return
	}
	var body againRequest
	no := readSmall(rw, r, &body, `{"text": …}`)
	if no == nil && len([]rune(body.Text)) > maxText {
		no = refused(http.StatusRequestEntityTooLarge, "This message is too long.")
	}
	if no != nil {
		refuseBody(rw, r.Body, no)
		return
	}
	who := readerOf(r)
	payer, no := door(a).payer(r)
	if no == nil {
		mine, err := door(a).asked(r, m)
		if err != nil {
			no = a.web.failures.refuse("find the readers of a conversation", err)
		} else if !mine {
			no = refused(http.StatusForbidden, "Only your own messages can be answered again.")
		}
	}
	if no == nil {
		no = a.web.charge(r, a.web.messages)
	}
	if no != nil {
		no.reply(rw)
		return
	}
	acc, no := a.answerAgain(r, room, payer, m, body.Text)
	switch {
	case no != nil:
		no.reply(rw)
	case acc.Run == "":
		fail(rw, http.StatusConflict, "Only the last message can be answered again. Please send it as a new one.")
	default:
		defer a.web.reading()()
		acc.Duplicate = true // the client may have the text of the answer before
		a.web.stream(rw, r, room.ID, acc, wishes{reasoning: body.Reasoning, details: who.details})
	}
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
func (a manageAPI) rate(rw http.ResponseWriter, r *http.Request) {
	room, m, ok := a.message(rw, r)
	if !ok || !a.web.allow(rw, r, a.web.attempts) {
		return
	}
	var body rating
	no := readSmall(rw, r, &body, `{"rating": "up", "reason": …}`)
	switch {
	case no != nil:
	case body.Rating != "up" && body.Rating != "down" && body.Rating != "none":
		no = refused(http.StatusBadRequest, "rating is up, down or none.")
	case len([]rune(body.Reason)) > maxReason:
		no = refused(http.StatusRequestEntityTooLarge, "A reason may be at most 1000 characters.")
	case !a.web.opts.wrote(m):
		no = refused(http.StatusConflict, "Only answers can be rated.")
	}
	if no != nil {
		refuseBody(rw, r.Body, no)
		return
	}
	who := readerOf(r).author(room.ID)
	note := chat.RoomNote{Room: room.ID, Kind: chat.FeedbackNote, Key: string(m.ID) + " " + string(who), About: who, First: m.ID, Last: m.ID, At: time.Now()}
	if body.Rating != "none" {
		body.Reason = text.Visible(body.Reason)
		stored, err := json.Marshal(body)
		if err != nil {
			a.web.broken(rw, "encode a rating", err)
			return
		}
		note.Text = string(stored)
	}
	if err := a.web.opts.Store.SaveNote(r.Context(), note); err != nil {
		a.web.broken(rw, "store a rating", err)
		return
	}
	if a.web.opts.Rated != nil {
		a.web.opts.Rated(m, who, body.Rating, body.Reason)
	}
	reply(rw, http.StatusOK, okReply{true})
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

// export sends the conversation as a file: GET …/export, as Markdown, or as JSON with ?format=json.
func (a manageAPI) export(rw http.ResponseWriter, r *http.Request) {
	room, ok := a.web.room(rw, r)
	if !ok {
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
	h := rw.Header()
	if r.URL.Query().Get("format") == "json" {
		rated, err := door(a).ratings(r, room.ID)
		if err != nil {
			a.web.broken(rw, "export the ratings of a conversation", err)
			return
		}
		out := exported{Messages: []message{}}
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
	for _, m := range all {
		if m.WriteMarkdown(rw, a.writer(m)) != nil {
			return // the reader has disconnected
		}
	}
}

// exported is a conversation as JSON, with messages as in the list of messages.
type exported struct {
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
