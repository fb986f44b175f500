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

// Reader reads what is attached to messages. It is safe for concurrent use.
type Reader interface {
	// Read returns files in their order, each with what it holds, or with why that can't be told ([chat.Attachment]). It never
	// fails, and returns soon after ctx is done. Files that it has nothing to tell about, and those that a [*quota.LimitError] forbids
	// to read today, it returns as they are. What a model is asked about a picture is describe.
	Read(ctx context.Context, connector string, files []chat.Attachment, describe string) []chat.Attachment
	// Pictures returns those of files that are pictures which a model can be shown, in their order, and the files that it has
	// fetched for that, at most that many. What can't be had is not among the pictures; its file then says why ([chat.Attachment]).
	Pictures(ctx context.Context, connector string, files []chat.Attachment, most int) (shown []llm.File, fetched []chat.Attachment)
}

const (
	readLimit   = 90 * time.Second // how long reading may hold up an answer
	nearby      = 10 * time.Minute // files sent this long before a question belong to it
	maxPictures = 4                // that a model is shown
)

var errReading = errors.New("reading the files took too long")

// Store is what a reading needs of a store. Errors are those of package storage.
type Store interface {
	Memory(ctx context.Context, id chat.MemoryID) (chat.Memory, error)
	Revise(ctx context.Context, id chat.MemoryID, text string, files []chat.Attachment) error
}

// Reading reads for the turns of one run.
type Reading struct {
	Reader    Reader // nil: nothing is read
	Store     Store
	Inputs    []chat.MemoryID // of the run
	Vision    bool            // the model that answers can be shown pictures
	Describes bool            // another model describes pictures
	// Describe returns what that model is asked.
	Describe func(ctx context.Context, s action.TurnContext) string
	Life     context.Context // outlives the turn: what was read is remembered
	Log      *slog.Logger
}

// HasUnread reports whether files that the turn is about are still to be read, as far as wanted says.
func (rd *Reading) HasUnread(s action.TurnContext, wanted func(chat.Attachment) bool) bool {
	return len(rd.unread(rd.about(s), wanted)) > 0
}

// HasFiles reports whether the turn is about messages with files.
func (rd *Reading) HasFiles(s action.TurnContext) bool {
	return rd.Reader != nil && slices.ContainsFunc(rd.about(s), func(m chat.Memory) bool { return len(m.Files) > 0 })
}

// Read finds out what the files hold that the turn is about, as far as wanted says, and remembers it: each is read once.
// Whatever goes wrong, the turn goes on.
func (rd *Reading) Read(ctx context.Context, s *action.TurnContext, wanted func(chat.Attachment) bool) {
	about := rd.about(*s)
	files := rd.unread(about, wanted)
	if len(files) == 0 {
		return
	}
	limited, cancel := context.WithTimeoutCause(ctx, readLimit, errReading)
	defer cancel()
	files = rd.Reader.Read(limited, s.Room.Connector, files, rd.Describe(ctx, *s))
	if ctx.Err() != nil { // the turn is over; what it could not wait for may be read in another one
		files = slices.DeleteFunc(files, func(f chat.Attachment) bool { return f.Unread != "" })
	}
	for _, m := range about {
		rd.learn(s, m, files)
	}
}

// unread are the files of about that are still to be read, as far as wanted says.
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

// about are the memories that a turn is about: what it answers, what that replies to, and what the same people sent shortly
// before. The latest come last.
func (rd *Reading) about(s action.TurnContext) (about []chat.Memory) {
	replied := map[chat.MemoryID]bool{}
	people := map[chat.EntityID]time.Time{} // when each asked first
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

// learn remembers what was read of m, and puts it into the turn. It takes m as it is now: it may have been edited meanwhile.
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
	if now.ID == "" { // forgotten meanwhile, or the store is away
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

// View fetches the pictures that the turn is about, the latest first, for a model that sees, and remembers that it was shown them:
// each is shown with one question, also if that is answered again. For other questions it is words.
func (rd *Reading) View(ctx context.Context, s *action.TurnContext) []llm.File {
	if !rd.Vision || rd.Reader == nil {
		return nil
	}
	var files []chat.Attachment
	about := rd.about(*s)
	for _, m := range slices.Backward(about) {
		for _, f := range m.Files {
			if f.Unread == "" && (f.Seen == "" || f.Seen == questionOf(*s)) {
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

// Worded picks the files that a turn needs in words: not the pictures that the model is shown with it, unless another model
// describes them anyway.
func (rd *Reading) Worded(s action.TurnContext) func(chat.Attachment) bool {
	return func(f chat.Attachment) bool { return f.Seen != questionOf(s) || rd.Describes }
}

// AddLinks attaches the pages that the question links to, if it does not have them yet, and returns the hosts of those that are still to
// be read.
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

// addLinks attaches the pages that a message links to, and stores that.
func (rd *Reading) addLinks(ctx context.Context, m chat.Memory) (chat.Memory, error) {
	pages := Links(m.Text)
	if len(pages) == 0 {
		return m, nil
	}
	m.Files = append(slices.Clone(m.Files), pages...)
	err := rd.Store.Revise(ctx, m.ID, m.Text, m.Files)
	if errors.Is(err, chat.ErrNotFound) { // forgotten meanwhile
		err = nil
	}
	return m, err
}

// merged are files with what was read of them.
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

// fresh are those of files that were not read before.
func fresh(before, files []chat.Attachment) (all []chat.Attachment) {
	for i, f := range files {
		if !before[i].Read() {
			all = append(all, f)
		}
	}
	return all
}

// Any and Voice are what [Reading.Read] may want.
func Any(chat.Attachment) bool { return true }

// Voice reports whether f is a voice message of the person who sent it. [Reading.Read] and [Reading.HasUnread] take it as a filter.
func Voice(f chat.Attachment) bool { return f.Spoken() }

// questionOf is the message that a turn answers, by its id.
func questionOf(s action.TurnContext) chat.MemoryID {
	return cmp.Or(s.Message.ID, chat.MemoryID(s.Run))
}

// maxLinks is how many pages of one message are read.
const maxLinks = 3

// links are addresses. Chinese and Japanese punctuation, fullwidth forms of signs and typographic quotes end one.
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
