package coretest

import (
	"testing"

	"parley/core/storage"
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
