package postgres

import (
	"context"
	"math"
	"slices"

	"parley/backends/record"
	"parley/core/chat"
)

// selectRecent walks the index memories_by_turn backwards and stops at the limit.
const selectRecent = `
	SELECT ` + record.MemoryColumns + ` FROM memories
	WHERE room = $1 AND kind = $2 AND turn <= $3
	ORDER BY turn DESC, seq DESC LIMIT $4`

// Recent implements [storage.Memories]. Its cost depends on the limit only, not on the number of stored messages.
func (s *memories) Recent(ctx context.Context, room chat.RoomID, kind chat.MemoryKind, upTo chat.ResponseID, limit int) ([]chat.Memory, error) {
	if upTo == 0 || upTo > math.MaxInt64 {
		upTo = math.MaxInt64
	}
	var all []chat.Memory
	err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
		all, err = list(ctx, q, record.MemoryScanner(), selectRecent, room, kind, upTo, max(limit, 0))
		return err
	})
	slices.Reverse(all)
	return all, wrap(err, "reading the messages in %q", room)
}
