package record

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"parley/core/chat"
	"parley/internal/search"
)

// Bounds of the index: a long document, or one word of a million letters, must not make it or a search slow.
const (
	longestWord = 80   // in bytes; longer ones are left out, in messages and in questions
	mostWords   = 8000 // of one message; later ones are not found
	// Candidates is the maximum number of messages with a word of a question that are considered: the newest.
	Candidates = 5000
	// Compared is the maximum number of messages that are compared word by word: those with the rarest words of a
	// question.
	Compared = 500
)

// WordsOf returns the search words of m, separated by spaces: those of its text and of its files. It returns ""
// if m is no part of a transcript. The stores index exactly these words, without splitting or stemming of their own, so
// they find the same.
func WordsOf(m chat.Memory) string {
	if !m.InTranscript() {
		return ""
	}
	texts := []string{m.Text}
	for _, f := range m.Files {
		texts = append(texts, f.Name, f.Title, f.Description, f.Text)
	}
	all := known(search.Words(strings.Join(texts, "\n")))
	return strings.Join(all[:min(len(all), mostWords)], " ")
}

// Asked returns the words of q that can be in the index.
func Asked(q chat.Search) []string { return known(q.Words) }

// known returns words without those that are too long for the index.
func known(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return len(w) > longestWord })
}

// RoomWord returns a word that stands for a room in SQLite's index. Two rooms can have the same, so the room must be
// checked too.
func RoomWord(room chat.RoomID) string {
	sum := sha256.Sum256([]byte(room))
	return hex.EncodeToString(sum[:8])
}

// ScanText reads the number and the indexed words of a message, and fails as r does.
func ScanText(r Row) (t search.Text, err error) {
	var words string
	err = r.Scan(&t.ID, &words)
	t.Words = strings.Fields(words)
	return t, err
}

// Numbered is a message with its number in the store (seq) and its turn.
type Numbered struct {
	Seq  int64
	Turn chat.ResponseID
	chat.Memory
}

// ScanNumbered reads seq, turn and [MemoryColumns], and fails as r does.
func ScanNumbered(r Row) (n Numbered, err error) {
	n.Memory, err = ScanMemory(behind{r, []any{&n.Seq, &n.Turn}})
	return n, err
}

// behind is a row whose first columns are read into first, and only the others by the caller of Scan.
type behind struct {
	Row
	first []any
}

// Scan implements [Row].
func (b behind) Scan(into ...any) error { return b.Row.Scan(append(b.first, into...)...) }

// Passages returns the turns of the best messages, in the order of best, at most limit. all are the messages of these
// turns, oldest first. A turn appears once, at the place of its best message.
func Passages(best []int64, all []Numbered, limit int) (passages []chat.Passage) {
	type turn struct {
		room chat.RoomID
		turn chat.ResponseID
	}
	of, turns := map[int64]turn{}, map[turn][]chat.Memory{}
	for _, m := range all {
		if m.InTranscript() {
			t := turn{m.Room, m.Turn}
			of[m.Seq], turns[t] = t, append(turns[t], m.Memory)
		}
	}
	for _, seq := range best {
		t, ok := of[seq]
		if ok && len(turns[t]) > 0 && len(passages) < limit {
			passages = append(passages, chat.Passage{Room: t.room, Turn: t.turn, Messages: turns[t]})
			turns[t] = nil
		}
	}
	return passages
}

// Best returns the numbers of the messages that match the words asked best, the best first. These are more than limit,
// because several can be of one turn. The texts were selected from more, which spread describes.
func Best(texts []search.Text, asked []string, spread search.Spread, limit int) (best []int64) {
	ranked := search.RankSome(texts, asked, spread)
	for _, s := range ranked[:min(len(ranked), 3*limit)] {
		best = append(best, s.ID)
	}
	return best
}
