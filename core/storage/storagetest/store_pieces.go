package storagetest

import (
	"testing"
	"time"

	"parley/core/chat"
	"parley/internal/require"
)

func pieceChecks() []storeCheck {
	return []storeCheck{
		{"vectors of knowledge are stored by model and text", piecesKept},
		{"vectors of unused pieces expire", piecesExpire},
	}
}

func piecesKept(_ *testing.T, s store) {
	a, b, c := chat.PieceKeyOf("a"), chat.PieceKeyOf("b"), chat.PieceKeyOf("c")
	read := func(model string, keys ...chat.PieceKey) map[chat.PieceKey][]byte {
		s.t.Helper()
		found := require.Value(s.PieceVectors(s.t.Context(), model, keys))(s.t)
		return found
	}
	s.same("of none", len(read("m", a)), 0)
	s.must(s.SavePieceVectors(s.t.Context(), "m", map[chat.PieceKey][]byte{a: {1, 2}, b: {3}, c: {}}))
	s.must(s.SavePieceVectors(s.t.Context(), "n", map[chat.PieceKey][]byte{a: {9}}))
	s.same("some", read("m", a, b, chat.PieceKeyOf("d")), map[chat.PieceKey][]byte{a: {1, 2}, b: {3}})
	s.same("an empty one", len(read("m", c)), 1)
	s.same("of another model", read("n", a, b), map[chat.PieceKey][]byte{a: {9}})
	s.must(s.SavePieceVectors(s.t.Context(), "m", map[chat.PieceKey][]byte{a: {4, 5, 6}}))
	s.same("saved again", read("m", a, b), map[chat.PieceKey][]byte{a: {4, 5, 6}, b: {3}})
	s.must(s.SavePieceVectors(s.t.Context(), "m", nil))
	s.must(s.UsePieceVectors(s.t.Context(), "m", nil))
}

func piecesExpire(t *testing.T, s store) {
	used, not := chat.PieceKeyOf("used"), chat.PieceKeyOf("not used")
	s.must(s.SavePieceVectors(t.Context(), "m", map[chat.PieceKey][]byte{used: {1}, not: {2}}))
	time.Sleep(time.Hour)
	s.must(s.UsePieceVectors(t.Context(), "m", []chat.PieceKey{used, chat.PieceKeyOf("unknown")}))
	for more := true; more; {
		var err error
		more, err = s.Expire(t.Context(), chat.Expiry{Rest: time.Now().Add(-time.Minute)})
		s.must(err)
	}
	found := require.Value(s.PieceVectors(t.Context(), "m", []chat.PieceKey{used, not}))(s.t)
	s.same("left", found, map[chat.PieceKey][]byte{used: {1}})
}
