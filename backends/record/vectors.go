package record

import (
	"crypto/sha256"
	"encoding/binary"

	"parley/core/chat"
	"parley/core/search"
)

// HashOf returns a number for a name of a room or a model; never 0.
func HashOf(name string) int64 {
	sum := sha256.Sum256([]byte(name))
	return int64(binary.LittleEndian.Uint64(sum[:]) | 1)
}

// NearestOf begins a search for vectors; nil if there is nothing to look for. Several messages can be of one turn.
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
