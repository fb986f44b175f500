package attachment

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"parley/core/action"
	"parley/core/chat"
)

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
