package record

import (
	"crypto/sha256"
	"encoding/binary"

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

// ScanUnembedded reads seq, version and [MemoryColumns].
func ScanUnembedded(r Row) (u chat.Unembedded, err error) {
	u.Memory, err = ScanMemory(behind{r, []any{&u.Ticket.Seq, &u.Ticket.Version}})
	return u, err
}
