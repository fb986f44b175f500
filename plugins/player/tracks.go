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
	mostTracks  = 10_000 // that a folder is read for
	mostNear    = 3      // that are suggested
	mostOffered = 10     // to choose from
	maxTitle    = 80     // characters that are shown
)

// track is one piece of music.
type track struct {
	title string
	path  string   // in the folder
	url   *url.URL // or where it is
}

func trackAt(address string) (track, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return track{}, errors.New("an entry is not a track URL; use one such as https://example.org/clair-de-lune.mp3")
	}
	return track{title: title(u.Path), url: u}, nil
}

// title is the name of a file as people would write it.
func title(name string) string {
	name = strings.TrimSuffix(path.Base(name), path.Ext(name))
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || r == '_' || r == '-' }), " ")
}

// link is the title as Markdown, with where it is if people may know that.
func (t track) link() string {
	if t.url == nil || t.secret() {
		return "**" + plain(t.title) + "**"
	}
	return "[" + plain(t.title) + "](" + strings.NewReplacer("(", "%28", ")", "%29").Replace(t.url.String()) + ")"
}

// secret reports whether the track's URL must not be shown.
func (t track) secret() bool { return t.url.User != nil || t.url.RawQuery != "" }

// plain is a title without what Markdown would read as marks, not too long.
func plain(title string) string {
	return text.Excerpt(strings.Map(func(r rune) rune {
		if strings.ContainsRune("*_`~|[]<>\\", r) || unicode.IsControl(r) {
			return -1
		}
		return r
	}, title), maxTitle)
}

// tracks is all the music, in order of the titles.
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

// find returns the tracks whose titles have all the words and fit best: any one without words. If there are none, near are
// those that have some of them.
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

// match counts the wanted words that words of a title begin with. Of titles that have them all, fit is the greater the fewer
// words more there are, and then the more of them are whole.
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

// suggest is a sentence about what else there is.
func suggest(near []track) string {
	if len(near) == 0 {
		return ""
	}
	return " Similar: " + list(near) + "."
}

// list is the tracks in a sentence.
func list(tracks []track) string {
	return "“" + strings.Join(labels(tracks), "”, “") + "”"
}

// labels are the titles, with where it is of those that are not the only ones of their title.
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

// where tells tracks of one title apart; empty if people are not to know that.
func (t track) where() string {
	switch {
	case t.url == nil:
		return strings.ReplaceAll(t.path, "_", " ") // as titles are written
	case t.secret():
		return ""
	}
	return t.url.Host
}
