package storagetest

import (
	"testing"

	"parley/core/quota"
	"parley/core/storage"
	"parley/internal/require"
)

// DamagedVectors checks that messages whose stored vectors can't be compared wait for others, and are found again with
// them. damage overwrites the bytes of all vectors of s.
func DamagedVectors(t *testing.T, s storage.Store, damage func(vector []byte)) {
	st := store{s, t}
	st.tells("room", 1, "east", "")
	st.tells("room", 2, "north", "")
	st.tells("room", 3, "?", "")
	st.indexWithVectors()
	st.embed("m", spots)
	st.same("before", st.near("room", 3, "", "m", 1, 0), []string{"east"})
	for name, vector := range map[string][]byte{
		"cut off": {1, 2, 3}, "too long": {1, 2, 3, 4, 5, 6, 7, 8}, "zeros": make([]byte, 6),
		"no number": {0, 0, 0xc0, 0x7f, 1, 1}, "huge": {0xff, 0xff, 0x7f, 0x7f, 127, 127}, "negative": {0, 0, 0x80, 0xbf, 127, 0},
	} {
		damage(vector)
		st.same(name, st.near("room", 3, "", "m", 1, 0), []string(nil))
		st.same("waiting for others, "+name, st.embed("m", spots), 2)
		st.same("after "+name, st.near("room", 3, "", "m", 1, 0), []string{"east"})
	}
}

// OldTotals checks that totals which an earlier version let overflow can be added to and read. grow gives all totals of s the largest
// number that there is.
func OldTotals(t *testing.T, s storage.Store, grow func()) {
	st := store{s, t}
	st.spend("2026-11-20", "", tokens("ada", 1, 0))
	st.spend("2026-11-21", "", tokens("ada", 1, 0))
	grow()
	st.spent("2026-11-21", "ada", quota.Cost{Messages: quota.MostTotal, Tokens: quota.MostTotal, USD: quota.MostTotal})
	st.spend("2026-11-21", "", tokens("ada", 1, 0))
	all := require.Value(s.Used(t.Context(), "2026-11-20", "2026-11-21", "ada"))(st.t)
	const most = 2 * quota.MostTotal
	st.same("used", all, []quota.Total{
		{Bucket: "ada", Cost: quota.Cost{Messages: most, Tokens: most, USD: most}, Counts: quota.Counts{Input: most, Cached: most, Output: most, Unpriced: most}},
	})
}
