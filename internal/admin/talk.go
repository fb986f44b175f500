package admin

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"parley/core/access"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/text"
)

const maxWritten = 4000 // characters of a message to a user

// nameFirst matches the marks of a name that begins a line, as in the sentence that a person is there.
var nameFirst = regexp.MustCompile(`^\*\*([^*\n]+)\*\*`)

// talk is the conversation of a user who waits for a person or talks to one.
type talk struct {
	Handover
	State  string
	Mine   bool // the reader is the person
	Lines  []talkLine
	Key    string // of the form
	Text   string // of a form that failed
	Length int
}

// talkLine is a message, or a note for the staff.
type talkLine struct {
	at           time.Time
	By, At, Text string
	Side         string // a class: user, person, agent or note
	Files        []attached
}

// state describes a conversation.
func (h Handover) state() string {
	switch {
	case h.By == "":
		return "waits for a person"
	case h.Late:
		return "talks to " + h.By + ", who has not replied for ten minutes"
	}
	return "talks to " + h.By
}

// personOf returns the user of the page as the user of a conversation reads them. The operator has no account and no name.
func personOf(a *Admin, v *visit) chat.Person {
	if who, ok := strings.CutPrefix(v.session.Who, ssoPrefix); ok {
		name, _, _ := strings.Cut(who, " ")
		name, _, _ = strings.Cut(name, "@")
		return chat.Person{ID: chat.EntityID(v.session.Who), Name: name}
	}
	id := accountOf(v.session)
	return chat.Person{ID: id, Name: check(a.Store.Entity(v.Context(), id))(v).Name()}
}

// showTalk shows a conversation, with the form of its person.
func showTalk(a *Admin, v *visit) view {
	t := &talk{State: "This conversation is with the agent again.", Key: rand.Text(), Text: v.PostForm.Get("text"), Length: maxWritten}
	t.Room = chat.RoomID(v.URL.Query().Get("id"))
	for _, h := range check(a.Gateway.Handovers(v.Context()))(v) {
		if h.Room == t.Room {
			me := personOf(a, v).ID
			t.Handover, t.Mine = h, h.By != "" && h.Person == me
			t.State = h.Name + " " + h.state() + "."
			t.Lines = talkLines(a, v, h)
		}
	}
	if t.ID == "" && len(check(a.Store.Recent(v.Context(), t.Room, chat.Said, 0, 1))(v)) == 0 {
		t.State = "The user has deleted this conversation."
	}
	return view{Title: cmp.Or(t.Name, "Conversation"), Talk: t}
}

// talkLines returns the last messages and notes of a conversation, oldest first.
func talkLines(a *Admin, v *visit, h Handover) (all []talkLine) {
	for _, m := range check(a.Store.Recent(v.Context(), h.Room, chat.Said, 0, mostMessages))(v) {
		files := attachedTo(m)
		m.Files = slices.DeleteFunc(slices.Clone(m.Files), opens) // they are shown below the text; the store shares its memories
		l := talkLine{m.At, cmp.Or(m.Name, h.Name), a.clock(m.At), m.PromptText(), "user", files}
		if m.Author == a.Agent.Entity() {
			l.Side, l.Text = "agent", nameFirst.ReplaceAllString(l.Text, "$1")
			if as, said := m.ByPerson(); as != "" {
				l.By, l.Text, l.Side = as, said, "person"
			}
		}
		all = append(all, l)
	}
	for _, n := range check(a.Store.Notes(v.Context(), h.Room, chat.StaffNote, mostMessages))(v) {
		all = append(all, talkLine{n.At, "Note", a.clock(n.At), n.Text, "note", nil})
	}
	slices.SortStableFunc(all, func(x, y talkLine) int { return x.at.Compare(y.at) })
	for i := range all {
		all[i].Text = text.Visible(all[i].Text)
	}
	return all
}

// doTalk takes a conversation over, hands it back, or writes.
func doTalk(a *Admin, v *visit) (string, error) {
	id, key, do := v.PostForm.Get("id"), v.PostForm.Get("key"), v.PostForm.Get("do")
	switch do {
	case "take over":
		refused, err := a.Gateway.TakeOver(v.Context(), id, personOf(a, v))
		if err = cmp.Or(err, v.err); err == nil && refused != "" {
			err = userError(refused)
		}
		return "You talk to them now.", err
	case "hand back":
		return a.Gateway.HandBack(v.Context(), id)
	case "suggest":
		draft, err := a.Gateway.Draft(v.Context(), id, personOf(a, v).ID)
		if err == nil && draft != "" {
			v.PostForm.Set("text", draft)
			return "This is a draft of the agent: edit it, and send it or delete it.", nil
		} else if err == nil || !errors.Is(err, chat.ErrNotFound) {
			a.Log.Warn("the agent made no draft for a person", "err", err)
			err = userError("The agent has no draft right now.")
		}
		return "", err
	case "write", "note":
		m := access.PageMessage{Key: key, By: personOf(a, v).ID, Text: strings.TrimSpace(v.PostForm.Get("text")), Note: do == "note"}
		var err error
		if m.Files, err = upload(v); err == nil && m.Text == "" && len(m.Files) == 0 {
			err = userError("Write a text first.")
		} else if len(m.Text) > 4*maxWritten {
			err = userError("The text is too long.")
		} else if m.Note && len(m.Files) > 0 {
			err = userError("A note can't have a file.")
		}
		if err == nil {
			err = a.Gateway.Write(v.Context(), id, m)
		}
		return map[bool]string{true: "Only the staff reads this note.", false: "Sent."}[m.Note], err
	}
	return "", chat.ErrNotFound
}

// upload returns the file of a form, if it has one.
func upload(v *visit) ([]llm.File, error) {
	f, header, err := v.FormFile("file")
	if errors.Is(err, http.ErrMissingFile) || errors.Is(err, http.ErrNotMultipart) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	if header.Size > llm.MaxFile {
		return nil, userError("The file is too large: at most 8 MiB can be sent.")
	}
	data, err := io.ReadAll(f)
	if err == nil && len(data) == 0 {
		err = userError("The file is empty.")
	}
	return []llm.File{{Name: header.Filename, Data: data}}, err
}

// nextTalk returns the nth part of the stream of a conversation after the beginning part: its messages as HTML, or "" if nothing has changed.
func (f *follower) nextTalk(v *visit, part string, n int) (string, error) {
	if n%listEvery != 0 {
		return part, nil
	}
	var out bytes.Buffer
	err := f.pages["talk"].ExecuteTemplate(&out, "lines", showTalk(f.Admin, v).Talk)
	event, wrong := json.Marshal(out.String())
	if err = cmp.Or(v.err, err, wrong); err == nil && string(event) != f.last {
		f.last = string(event)
		part += "data: " + f.last + "\n\n"
	}
	return part, err
}
