package record

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"parley/core/chat"
	"parley/internal/search"
)

// HashOf returns a number for the name of a room or a model, which is shorter to store and compare. It is never 0,
// which means none. It is stored, so it must not change.
func HashOf(name string) int64 {
	sum := sha256.Sum256([]byte(name))
	return int64(binary.LittleEndian.Uint64(sum[:]) | 1)
}

// NearestOf returns the collector of a search for vectors, or nil if q asks for none. It collects more messages than
// passages are wanted, because several can be of one turn.
func NearestOf(q chat.Search) *search.Nearest {
	unit := search.Unit(q.Vector)
	if unit == nil || q.Model == "" || q.Limit <= 0 {
		return nil
	}
	return &search.Nearest{Unit: unit, Limit: 3 * q.Limit}
}

// ScanUnembedded reads seq, version and [MemoryColumns], and fails as r does.
func ScanUnembedded(r Row) (u chat.Unembedded, err error) {
	u.Memory, err = ScanMemory(behind{r, []any{&u.Ticket.Seq, &u.Ticket.Version}})
	return u, err
}

// PieceKeys returns keys in hexadecimal, so that any number of them can be one parameter of a statement.
func PieceKeys(keys []chat.PieceKey) []string {
	all := make([]string, 0, len(keys))
	for _, k := range keys {
		all = append(all, hex.EncodeToString(k[:]))
	}
	return all
}

// PieceVector is the stored vector of a piece of knowledge, packed by [parley/internal/search.Pack].
type PieceVector struct {
	Key    chat.PieceKey
	Vector []byte
}

// ScanPieceVector reads the columns piece and vector. It fails for a key of another length.
func ScanPieceVector(r Row) (v PieceVector, err error) {
	var key []byte
	if err = r.Scan(&key, &v.Vector); err == nil && len(key) != len(v.Key) {
		err = fmt.Errorf("the key of a piece has %d bytes", len(key))
	}
	copy(v.Key[:], key)
	return v, err
}

// PieceVectors returns the vectors of all by their keys.
func PieceVectors(all []PieceVector) map[chat.PieceKey][]byte {
	by := make(map[chat.PieceKey][]byte, len(all))
	for _, v := range all {
		by[v.Key] = v.Vector
	}
	return by
}
