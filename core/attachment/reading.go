package attachment

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
)

// Reader reads the attachments of messages. It is safe for concurrent use.
type Reader interface {
	// Read returns files in their order, each with its content, or with the reason why it can't be read
	// ([chat.Attachment]). It never fails, and returns soon after ctx is done. It returns files unchanged that have no
	// readable content, and those that a [*quota.LimitError] forbids to read today. describe is the instruction for
	// pictures.
	Read(ctx context.Context, connector string, files []chat.Attachment, describe string) []chat.Attachment
	// Pictures returns the pictures among files that a model can see, in their order, and the files that it has fetched
	// for that, at most that many. A file that can't be fetched is not among the pictures; its attachment then has the
	// reason ([chat.Attachment]).
	Pictures(ctx context.Context, connector string, files []chat.Attachment, most int) (shown []llm.File, fetched []chat.Attachment)
}

const (
	readLimit   = 90 * time.Second // the maximum delay of an answer by reading
	nearby      = 10 * time.Minute // files sent this long before a question belong to it
	maxPictures = 4                // for a model
)

var errReading = errors.New("reading the files took too long")

// Store contains the store methods of a [Reading]. Errors are those of package storage.
type Store interface {
	Memory(ctx context.Context, id chat.MemoryID) (chat.Memory, error)
	Revise(ctx context.Context, id chat.MemoryID, text string, files []chat.Attachment) error
}

// Reading reads for the turns of one run.
type Reading struct {
	Reader    Reader // nil: nothing is read
	Store     Store
	Inputs    []chat.MemoryID // of the run
	Vision    bool            // the model that answers accepts pictures
	Describes bool            // another model describes pictures
	// Describe returns the instruction for that model.
	Describe func(ctx context.Context, s action.TurnContext) string
	Life     context.Context // outlives the turn: the content is stored
	Log      *slog.Logger
}

// HasUnread reports whether files of the turn are still to be read, among those that wanted selects.
func (rd *Reading) HasUnread(s action.TurnContext, wanted func(chat.Attachment) bool) bool {
	return len(rd.unread(rd.about(s), wanted)) > 0
}

// HasFiles reports whether the messages of the turn have files.
func (rd *Reading) HasFiles(s action.TurnContext) bool {
	return rd.Reader != nil && slices.ContainsFunc(rd.about(s), func(m chat.Memory) bool { return len(m.Files) > 0 })
}

// Read reads the files of the turn that wanted selects, and stores their content: each is read once. A failure never
// ends the turn.
func (rd *Reading) Read(ctx context.Context, s *action.TurnContext, wanted func(chat.Attachment) bool) {
	about := rd.about(*s)
	files := rd.unread(about, wanted)
	if len(files) == 0 {
		return
	}
	files = rd.Files(ctx, *s, files)
	if ctx.Err() != nil { // the turn is over; the unfinished files may be read in another one
		files = slices.DeleteFunc(files, func(f chat.Attachment) bool { return f.Unread != "" })
	}
	for _, m := range about {
		rd.learn(s, m, files)
	}
}

// Files returns files of the room of s with their content, in their order. Nothing is stored.
func (rd *Reading) Files(ctx context.Context, s action.TurnContext, files []chat.Attachment) []chat.Attachment {
	if rd.Reader == nil {
		return files
	}
	limited, cancel := context.WithTimeoutCause(ctx, readLimit, errReading)
	defer cancel()
	return rd.Reader.Read(limited, s.Room.Connector, files, rd.Describe(ctx, s))
}

// unread returns the files of about that are still to be read, among those that wanted selects.
func (rd *Reading) unread(about []chat.Memory, wanted func(chat.Attachment) bool) (files []chat.Attachment) {
	if rd.Reader == nil {
		return nil
	}
	for _, m := range about {
		for _, f := range m.Files {
			if !f.Read() && wanted(f) {
				files = append(files, f)
			}
		}
	}
	return files
}

// about returns the memories of a turn: the messages to answer, the messages that they reply to, and other messages of
// the same authors shortly before. The latest come last.
func (rd *Reading) about(s action.TurnContext) (about []chat.Memory) {
	replied := map[chat.MemoryID]bool{}
	people := map[chat.EntityID]time.Time{} // when each author asked first
	for _, m := range s.Recent {
		if m.ID == s.Message.ID || slices.Contains(rd.Inputs, m.ID) {
			replied[m.InReplyTo] = true
			if _, ok := people[m.Author]; !ok {
				people[m.Author] = m.At
			}
		}
	}
	for _, m := range s.Recent {
		asked, ok := people[m.Author]
		if len(m.Files) > 0 && (replied[m.ID] || ok && asked.Sub(m.At) <= nearby) {
			about = append(about, m)
		}
	}
	return about
}

// learn stores the content of the files of m, and adds it to the turn. It reads m again: it may have been edited
// meanwhile.
func (rd *Reading) learn(s *action.TurnContext, m chat.Memory, read []chat.Attachment) {
	now, err := rd.Store.Memory(rd.Life, m.ID)
	if err == nil {
		before := now.Files
		now.Files = merged(before, read)
		if slices.Equal(before, now.Files) {
			return
		}
		now.Text = chat.WithTranscripts(now.Text, fresh(before, now.Files))
		err = rd.Store.Revise(rd.Life, now.ID, now.Text, now.Files)
	}
	if err != nil {
		rd.Log.Warn("extracted file text can't be saved", "memory", m.ID, "err", err)
	}
	if now.ID == "" { // deleted meanwhile, or the store is unreachable
		return
	}
	for i := range s.Recent {
		if s.Recent[i].ID == now.ID {
			s.Replace(i, now)
			s.Recent = WithoutRepeats(s.Recent, rd.Inputs)
			now = s.Recent[i]
		}
	}
	if s.Message.ID == now.ID {
		s.Message = now
	}
}

// View fetches the pictures of the turn, the latest first, for a model with vision, and records that: each picture is
// shown with one question, also if that is answered again. Other questions get its description.
func (rd *Reading) View(ctx context.Context, s *action.TurnContext) []llm.File {
	if !rd.Vision || rd.Reader == nil {
		return nil
	}
	var files []chat.Attachment
	about := rd.about(*s)
	for _, m := range slices.Backward(about) {
		for _, f := range m.Files {
			if f.Unread == "" && (f.Seen == "" || rd.seenHere(*s, f)) {
				files = append(files, f)
			}
		}
	}
	if len(files) == 0 {
		return nil
	}
	shown, fetched := rd.Reader.Pictures(ctx, s.Room.Connector, files, maxPictures)
	if ctx.Err() != nil {
		return nil
	}
	for i := range fetched {
		fetched[i].Seen = questionOf(*s)
	}
	for _, m := range about {
		rd.learn(s, m, fetched)
	}
	return shown
}

// seenHere reports whether a picture was shown with a message of the turn: those that have joined it were its latest message then.
func (rd *Reading) seenHere(s action.TurnContext, f chat.Attachment) bool {
	return f.Seen != "" && (f.Seen == questionOf(s) || slices.Contains(rd.Inputs, f.Seen))
}

// Worded returns a filter for the files that a turn needs as text: not the pictures that the model sees with it, unless
// another model describes them anyway.
func (rd *Reading) Worded(s action.TurnContext) func(chat.Attachment) bool {
	return func(f chat.Attachment) bool { return !rd.seenHere(s, f) || rd.Describes }
}

// AddLinks attaches the pages that the question links to, if it does not have them yet, and returns the hosts of those
// that are still to be read. It fails with the error of the store.
func (rd *Reading) AddLinks(ctx context.Context, s *action.TurnContext) (hosts []string, err error) {
	if rd.Reader == nil {
		return nil, nil
	}
	for i, m := range s.Recent {
		if m.ID != s.Message.ID && !slices.Contains(rd.Inputs, m.ID) {
			continue
		}
		if !slices.ContainsFunc(m.Files, func(f chat.Attachment) bool { return f.Link }) {
			if m, err = rd.addLinks(ctx, m); err != nil {
				return nil, err
			}
			s.Replace(i, m)
			if s.Message.ID == m.ID {
				s.Message = m
			}
		}
		for _, f := range m.Files {
			if f.Link && !f.Read() {
				u, _ := url.Parse(f.Ref) // Links has parsed it
				hosts = append(hosts, u.Hostname())
			}
		}
	}
	return hosts, nil
}

// addLinks attaches the pages that a message links to, and stores that. It fails with the error of the store.
func (rd *Reading) addLinks(ctx context.Context, m chat.Memory) (chat.Memory, error) {
	pages := Links(m.Text)
	if len(pages) == 0 {
		return m, nil
	}
	m.Files = append(slices.Clone(m.Files), pages...)
	err := rd.Store.Revise(ctx, m.ID, m.Text, m.Files)
	if errors.Is(err, chat.ErrNotFound) { // deleted meanwhile
		err = nil
	}
	return m, err
}

// merged returns files with the content in read.
func merged(files, read []chat.Attachment) []chat.Attachment {
	all := slices.Clone(files)
	for i, f := range all {
		k := slices.IndexFunc(read, func(r chat.Attachment) bool { return r.Ref == f.Ref })
		if k < 0 {
			continue
		}
		if !f.Read() {
			all[i] = read[k]
		}
		all[i].Seen = read[k].Seen
	}
	return Clean(all)
}

// fresh returns the files that were not read before.
func fresh(before, files []chat.Attachment) (all []chat.Attachment) {
	for i, f := range files {
		if !before[i].Read() {
			all = append(all, f)
		}
	}
	return all
}

// Any and Voice are filters for [Reading.Read].
func Any(chat.Attachment) bool { return true }

// Voice reports whether f is a voice message of the author of its message. [Reading.Read] and [Reading.HasUnread]
// accept it as a filter.
func Voice(f chat.Attachment) bool { return f.Spoken() }

// questionOf returns the id of the message that a turn answers.
func questionOf(s action.TurnContext) chat.MemoryID {
	return cmp.Or(s.Message.ID, chat.MemoryID(s.Run))
}

// maxLinks is the maximum number of pages that are read for one message.
const maxLinks = 3

// links matches addresses. Chinese and Japanese punctuation, fullwidth forms of signs and typographic quotes end one.
var links = regexp.MustCompile("https://[^\\s<>\"'`«»‹›\\x{2018}-\\x{201F}\\x{3000}-\\x{303F}\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF20}\\x{FF3B}-\\x{FF40}\\x{FF5B}-\\x{FF65}]+")

// Links returns the pages that a text links to, as attachments to be read, without duplicates.
func Links(text string) (all []chat.Attachment) {
	for _, found := range links.FindAllString(text, -1) {
		found = strings.TrimRight(found, ".,;:!?)]}*_")
		u, err := url.Parse(found)
		if err != nil || u.Hostname() == "" || u.User != nil || len(found) > chat.MaxOwn {
			continue
		}
		u.Fragment, u.RawFragment = "", ""
		page := chat.Attachment{Ref: u.String(), Name: u.Host + u.EscapedPath(), Type: "text/html", Link: true}
		if len(all) < maxLinks && !slices.ContainsFunc(all, page.Same) {
			all = append(all, page)
		}
	}
	return all
}
