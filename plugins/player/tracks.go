package player

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"parley/core/text"
)

const (
	mostTracks  = 10_000 // read from a folder
	mostNear    = 3      // suggested
	mostOffered = 10     // offered for a choice
	maxTitle    = 80     // characters
)

// track is one piece of music.
type track struct {
	title string
	path  string   // in the folder
	url   *url.URL // if it is not in the folder
}

func trackAt(address string) (track, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return track{}, errors.New("an entry is not a track URL; use one such as https://example.org/clair-de-lune.mp3")
	}
	return track{title: title(u.Path), url: u}, nil
}

// title returns the name of a file without its extension, as a user would write it.
func title(name string) string {
	name = strings.TrimSuffix(path.Base(name), path.Ext(name))
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || r == '_' || r == '-' }), " ")
}

// link returns the title as Markdown, with the URL if users can see it.
func (t track) link() string {
	if t.url == nil || t.secret() {
		return "**" + plain(t.title) + "**"
	}
	return "[" + plain(t.title) + "](" + strings.NewReplacer("(", "%28", ")", "%29").Replace(t.url.String()) + ")"
}

// secret reports whether the track's URL must not be shown: user names and queries often contain keys.
func (t track) secret() bool { return t.url.User != nil || t.url.RawQuery != "" }

// plain returns a title of limited length without Markdown.
func plain(title string) string {
	return text.Excerpt(strings.Map(func(r rune) rune {
		if strings.ContainsRune("*_`~|[]<>\\", r) || unicode.IsControl(r) {
			return -1
		}
		return r
	}, title), maxTitle)
}

// tracks returns all tracks, sorted by title. The folder is read each time, so that new files are found. Its number is
// bounded.
func (p *player) tracks(ctx context.Context) ([]track, error) {
	all := slices.Clone(p.fixed)
	if p.folder != nil {
		err := fs.WalkDir(p.folder, ".", func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case len(all) >= mostTracks:
				return fs.SkipAll
			case !d.IsDir() && kind(name) != "":
				all = append(all, track{title: title(name), path: name})
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read the folder: %w", err)
		}
	}
	slices.SortStableFunc(all, func(a, b track) int { return strings.Compare(a.title, b.title) })
	return all, nil
}

// find returns the best of the tracks whose titles contain all words of query, or any one if query is empty. If there are
// none, near are the tracks with some of the words.
func find(tracks []track, query string) (best, near []track) {
	wanted := words(query)
	bestFit, most := 0, 1
	for _, t := range tracks {
		n, fit := match(wanted, words(t.title))
		switch {
		case n == len(wanted) && (len(best) == 0 || fit > bestFit):
			best, bestFit = []track{t}, fit
		case n == len(wanted) && fit == bestFit && n > 0:
			best = append(best, t)
		case n > most:
			near, most = []track{t}, n
		case n == most:
			near = append(near, t)
		}
	}
	return best, near[:min(len(near), mostNear)]
}

// match counts the wanted words that are prefixes of words of a title. fit ranks titles that match all: it is greater for
// fewer further words, and then for more whole words.
func match(wanted, title []string) (n, fit int) {
	fit = -len(title) * (len(wanted) + 1)
	for _, w := range wanted {
		if slices.ContainsFunc(title, func(of string) bool { return strings.HasPrefix(of, w) }) {
			n++
		}
		if slices.Contains(title, w) {
			fit++
		}
	}
	return n, fit
}

func words(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// suggest returns a sentence about similar tracks, or "".
func suggest(near []track) string {
	if len(near) == 0 {
		return ""
	}
	return " Similar: " + list(near) + "."
}

// list returns the tracks for a sentence.
func list(tracks []track) string {
	return "“" + strings.Join(labels(tracks), "”, “") + "”"
}

// labels returns the titles. Tracks with the same title get their location in addition.
func labels(tracks []track) (all []string) {
	for i, t := range tracks {
		label := plain(t.title)
		same := func(o track) bool { return plain(o.title) == label }
		if where := t.where(); where != "" && (slices.ContainsFunc(tracks[:i], same) || slices.ContainsFunc(tracks[i+1:], same)) {
			label += " (" + plain(where) + ")"
		}
		all = append(all, label)
	}
	return all
}

// where returns the location that distinguishes tracks with the same title; empty if users must not see it.
func (t track) where() string {
	switch {
	case t.url == nil:
		return strings.ReplaceAll(t.path, "_", " ") // as titles are written
	case t.secret():
		return ""
	}
	return t.url.Host
}
