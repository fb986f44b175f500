package knowledge

import (
	"log/slog"
	"slices"

	"parley/core/chat"
)

// maxPieces bounds a library, and so the memory and the time of a search.
const maxPieces = 10_000

// library is a snapshot of the pieces of all documents. It is not changed once it is in use: with and without return
// another one, which shares the pieces.
type library struct {
	pieces   []piece
	words    index
	vectors  [][]byte // of the pieces; nil for those that have none yet
	embedded bool     // some have
}

// newLibrary cuts documents into pieces.
func newLibrary(documents []Document, log *slog.Logger) *library {
	l := &library{}
	for _, d := range documents {
		l.pieces = append(l.pieces, cut(d)...)
	}
	if n := len(l.pieces); n > maxPieces {
		log.Warn("agent.knowledge has too much text; the last part is left out", "pieces", n, "most", maxPieces)
		l.pieces = l.pieces[:maxPieces]
	}
	var texts []string
	for i := range l.pieces {
		p := &l.pieces[i]
		p.key = chat.PieceKeyOf(p.meaning())
		texts = append(texts, p.from()+"\n"+p.text)
	}
	l.words, l.vectors = newIndex(texts), make([][]byte, len(l.pieces))
	return l
}

// with returns the library with more vectors.
func (l *library) with(vectors map[chat.PieceKey][]byte) *library {
	if len(vectors) == 0 {
		return l
	}
	next := *l
	next.vectors = slices.Clone(l.vectors)
	for i, p := range l.pieces {
		if v, ok := vectors[p.key]; ok {
			next.vectors[i], next.embedded = v, true
		}
	}
	return &next
}

// known returns the vectors by their keys, for the library that replaces this one.
func (l *library) known() map[chat.PieceKey][]byte {
	all := make(map[chat.PieceKey][]byte, len(l.pieces))
	for i, p := range l.pieces {
		if l.vectors[i] != nil {
			all[p.key] = l.vectors[i]
		}
	}
	return all
}

// without returns the library without the vectors of some pieces.
func (l *library) without(pieces []int) *library {
	next := *l
	next.vectors = slices.Clone(l.vectors)
	for _, i := range pieces {
		next.vectors[i] = nil
	}
	return &next
}

// missing returns pieces without a vector, each text once.
func (l *library) missing() (pieces []int) {
	seen := map[chat.PieceKey]bool{}
	for i, p := range l.pieces {
		if l.vectors[i] == nil && !seen[p.key] {
			seen[p.key] = true
			pieces = append(pieces, i)
		}
	}
	return pieces
}
