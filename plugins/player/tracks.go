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
)

const (
	mostTracks = 10_000 // that a folder is read for
	mostNear   = 3      // that are suggested
	maxTitle   = 80     // characters that are shown
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
		return track{}, errors.New("an entry is no address of a track; it looks like https://example.org/clair-de-lune.mp3")
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
	if t.url == nil || t.url.User != nil || t.url.RawQuery != "" {
		return "**" + plain(t.title) + "**"
	}
	return "[" + plain(t.title) + "](" + strings.NewReplacer("(", "%28", ")", "%29").Replace(t.url.String()) + ")"
}

// plain is a title without what Markdown would read as marks, not too long.
func plain(title string) string {
	title = strings.Map(func(r rune) rune {
		if strings.ContainsRune("*_`~|[]<>\\", r) || unicode.IsControl(r) {
			return -1
		}
		return r
	}, title)
	if runes := []rune(title); len(runes) > maxTitle {
		return string(runes[:maxTitle]) + "…"
	}
	return title
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
			case !d.IsDir() && audio(name):
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

func audio(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".mp3", ".ogg", ".oga", ".opus", ".flac", ".m4a", ".aac", ".wav":
		return true
	}
	return false
}

// find is the track whose title has all the words, the shortest such title; without words the first of all. If there is
// none, near are those that have some of them.
func find(tracks []track, query string) (found *track, near []track) {
	wanted := words(query)
	best := 0
	for i, t := range tracks {
		have, n := words(t.title), 0
		for _, w := range wanted {
			if slices.ContainsFunc(have, func(h string) bool { return strings.HasPrefix(h, w) }) {
				n++
			}
		}
		if n == len(wanted) && (found == nil || len(have) < len(words(found.title))) {
			found = &tracks[i]
		} else if n > 0 && n >= best {
			if n > best {
				best, near = n, nil
			}
			near = append(near, t)
		}
	}
	return found, near[:min(len(near), mostNear)]
}

func words(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// suggest is a sentence about what else there is.
func suggest(near []track) string {
	if len(near) == 0 {
		return ""
	}
	var titles []string
	for _, t := range near {
		titles = append(titles, "“"+plain(t.title)+"”")
	}
	return " Close to it: " + strings.Join(titles, ", ") + "."
}
