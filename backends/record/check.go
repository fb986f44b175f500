package record

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"parley/core/answer"
	"parley/core/chat"
)

// ErrNoStatus is the error for a run that is to end without a status.
var ErrNoStatus = errors.New("an outcome needs a status")

// ErrText is the error for text that could not be read back as it was given.
var ErrText = errors.New("text is not valid UTF-8 without NUL")

// ErrLongID is the error for a memory whose id is longer than 2000 bytes: PostgreSQL can't index that.
var ErrLongID = errors.New("the id of a memory is too long")

const maxID = 2000 // bytes

// CheckText returns [ErrText] unless all texts are valid UTF-8 without NUL. JSON would silently replace invalid bytes,
// and PostgreSQL rejects both in the middle of a transaction. The stores check all texts before they write, so both
// behave alike and store nothing in part. Code that takes texts from outside has cleaned them before: see package text.
func CheckText(texts ...string) error {
	for _, t := range texts {
		if !utf8.ValidString(t) || strings.IndexByte(t, 0) >= 0 {
			return ErrText
		}
	}
	return nil
}

// CheckMemory returns an error if m has no id or room, or could not be read back as it is.
func CheckMemory(m chat.Memory) error {
	switch {
	case m.ID == "" || m.Room == "":
		return errors.New("a memory needs an id and a room")
	case len(m.ID) > maxID:
		return ErrLongID
	}
	errs := []error{
		CheckText(string(m.ID), string(m.Room), string(m.Kind), string(m.Author), m.Name, m.Text, string(m.InReplyTo), string(m.Failure), m.Thought),
		CheckText(m.History...), CheckText(m.Actions...), CheckText(m.Providers...),
	}
	for _, f := range m.Files {
		errs = append(errs, CheckText(f.Ref, f.Name, f.Type, f.Title, f.Description, f.Text))
	}
	return errors.Join(append(errs, checkCalls(m.Calls))...)
}

// checkCalls checks the texts of calls, because some come from models and tools.
func checkCalls(calls []answer.PastCall) error {
	var errs []error
	for _, c := range calls {
		errs = append(errs, CheckText(c.ID, c.Name, c.Parameters, c.CompactParams, c.Result, c.ShortResult, c.Error))
		for _, f := range c.Files {
			errs = append(errs, CheckText(f.Name, f.Type))
		}
	}
	return errors.Join(errs...)
}

// CheckRoom returns an error if r has no id, or could not be read back as it is.
func CheckRoom(r chat.Room) error {
	if r.ID == "" {
		return errors.New("a room needs an id")
	}
	return errors.Join(CheckText(r.Chats...),
		CheckText(string(r.ID), string(r.World), string(r.Kind), r.Connector, r.Name, r.Address.Connector, string(r.Address.Room)))
}

// CheckNote returns an error if n could not be read back as it is, or has a verdict without a status, which could not
// be told from no verdict.
func CheckNote(n chat.Note) error {
	errs := []error{CheckText(n.Text, n.Acting, n.Acted)}
	for _, s := range n.Shown {
		errs = append(errs, CheckText(s.ID))
	}
	for _, b := range n.Files {
		errs = append(errs, CheckText(b.Name, b.Type))
	}
	if v := n.Verdict; v != nil {
		if !v.Outcome.Done() {
			errs = append(errs, ErrNoStatus)
		}
		errs = append(errs, CheckText(v.Text, v.Thought), checkCalls(v.Calls), CheckText(v.History...), CheckText(v.Actions...), CheckText(v.Providers...))
	}
	return errors.Join(errs...)
}

// CheckMessage returns an error if in could not be read back as it is, or if its room is not the one it arrived in: the
// message would be stored in another room than the one that is saved with it.
func CheckMessage(in chat.Message) error {
	if in.Place.ID != in.Room {
		return fmt.Errorf("a message in the room %q can't carry the room %q", in.Room, in.Place.ID)
	}
	return errors.Join(CheckMemory(in.Memory), CheckRoom(in.Place),
		CheckText(in.Address.Connector, string(in.Address.Room), string(in.Address.ReplyTo)))
}

// CheckQuestion returns an error if q lacks an id, run or room, or could not be read back as it is.
func CheckQuestion(q chat.Question) error {
	errs := []error{CheckText(q.ID, string(q.Run), string(q.Room), q.Handler, q.Payload, q.Other, q.Details), CheckText(q.Options...)}
	for _, who := range q.For {
		errs = append(errs, CheckText(string(who)))
	}
	if q.ID == "" || q.Run == "" || q.Room == "" {
		errs = append(errs, errors.New("a question needs an id, a run and a room"))
	}
	return errors.Join(errs...)
}

// CheckApproval returns an error if a could not be read back as it is.
func CheckApproval(a chat.Approval) error {
	return CheckText(a.ID, string(a.Room), string(a.Run), a.Call, a.Tool, a.Kind, a.Arguments, string(a.Effect), string(a.Asker), string(a.Decision), string(a.By))
}

// CheckPerson returns an error if p has no id, or could not be read back as it is.
func CheckPerson(p chat.Person) error {
	if p.ID == "" {
		return errors.New("a person needs an id")
	}
	return CheckText(string(p.ID), p.Name, p.Address.Connector)
}
