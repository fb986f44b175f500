package telegramfake

import (
	"cmp"
	"slices"
	"strings"
)

// Entities are of three sorts: styles, which may overlap anything and are split where they must; frames, which hold
// no other frame and are whole; quotes, which hold frames and are not nested. pre and code, frames too, hold nothing
// and stand in nothing but a quote.

func isStyle(e Entity) bool {
	switch e.Type {
	case "bold", "italic", "underline", "strikethrough", "spoiler":
		return true
	}
	return false
}

func isQuote(e Entity) bool { return strings.HasSuffix(e.Type, "blockquote") }

func isCode(e Entity) bool { return e.Type == "pre" || e.Type == "code" }

func (e Entity) end() int { return e.Offset + e.Length }

func (e Entity) holds(o Entity) bool { return e.Offset <= o.Offset && o.end() <= e.end() }

func (e Entity) meets(o Entity) bool { return e.Offset < o.end() && o.Offset < e.end() }

// sortEntities puts the outer before the inner.
func sortEntities(list []Entity) {
	slices.SortStableFunc(list, func(a, b Entity) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(b.Length, a.Length), cmp.Compare(rank(a), rank(b)))
	})
}

func rank(e Entity) int {
	if i := slices.Index([]string{"bold", "italic", "underline", "strikethrough", "spoiler", "custom_emoji"}, e.Type); i >= 0 {
		return 90 + i
	}
	switch {
	case isQuote(e):
		return 0
	case e.Type == "pre":
		return 10
	case e.Type == "code":
		return 20
	case e.Type == "text_link", e.Type == "text_mention":
		return 49
	}
	return 50
}

// fixEntities makes the list one that clients can show, as the server does without a word. lost counts entities of
// which nothing remains.
func fixEntities(list []Entity) (fixed []Entity, lost int) {
	list = slices.DeleteFunc(slices.Clone(list), func(e Entity) bool { return e.Length == 0 })
	sortEntities(list)
	if valid(list) {
		return list, 0
	}
	var styles, frames, quotes []Entity
	for _, e := range list {
		switch {
		case isStyle(e):
			styles = append(styles, e)
		case isQuote(e):
			quotes = append(quotes, e)
		default:
			frames = append(frames, e)
		}
	}
	frames, quotes = apart(frames), apart(quotes)
	frames = slices.DeleteFunc(frames, func(f Entity) bool {
		return slices.ContainsFunc(quotes, func(q Entity) bool { return f.meets(q) && !q.holds(f) })
	})
	fixed = append(frames, quotes...)
	sortEntities(fixed)
	fixed = append(fixed, split(styles, fixed)...)
	sortEntities(fixed)
	for _, e := range list {
		if !slices.ContainsFunc(fixed, func(f Entity) bool { return f.Type == e.Type && f.meets(e) }) {
			lost++
		}
	}
	return fixed, lost
}

// valid reports whether a sorted list needs no repair.
func valid(list []Entity) bool {
	for i, e := range list {
		for _, outer := range list[:i] {
			switch {
			case outer.Type == e.Type && isStyle(e) && e.Offset <= outer.end():
				return false // nested or touching: they become one
			case !outer.meets(e):
			case !outer.holds(e), isStyle(outer), isCode(outer), isQuote(outer) && isQuote(e),
				!isQuote(outer) && !isStyle(e):
				return false
			}
		}
	}
	return true
}

// apart keeps of a sorted list the entities that do not meet an earlier one.
func apart(list []Entity) []Entity {
	end := 0
	return slices.DeleteFunc(list, func(e Entity) bool {
		if e.Offset < end {
			return true
		}
		end = e.end()
		return false
	})
}

// split joins styles that touch, cuts them where another style starts and at the edges of whole, and leaves nothing
// inside of pre and code.
func split(styles, whole []Entity) (out []Entity) {
	styles = joined(styles)
	var edges []int
	for _, s := range styles {
		edges = append(edges, s.Offset)
	}
	for _, w := range whole {
		edges = append(edges, w.Offset, w.end())
	}
	slices.Sort(edges)
	for _, s := range styles {
		start := s.Offset
		for _, edge := range append(slices.Clone(edges), s.end()) {
			if edge <= start || edge > s.end() {
				continue
			}
			piece := Entity{Type: s.Type, Offset: start, Length: edge - start}
			if !slices.ContainsFunc(whole, func(w Entity) bool { return isCode(w) && w.meets(piece) }) {
				out = append(out, piece)
			}
			start = edge
		}
	}
	return out
}

// joined makes one style of those of a kind that overlap or touch.
func joined(styles []Entity) (out []Entity) {
	for _, s := range styles {
		i := slices.IndexFunc(out, func(o Entity) bool { return o.Type == s.Type && s.Offset <= o.end() })
		if i < 0 {
			out = append(out, s)
			continue
		}
		out[i].Length = max(out[i].end(), s.end()) - out[i].Offset
	}
	return out
}
