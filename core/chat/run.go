package chat

import (
	"slices"
	"strconv"
	"strings"
)

// Said returns the id of the memory that holds the run's answer.
func (r Run) Said() MemoryID { return MemoryID(r.ID) }

// TurnsSince returns how many numbers of turns lie between the last complete answer of agent in recent and turn; without one in sight, as
// many as there are messages. Notices, which reply to nothing, are no answers.
func TurnsSince(recent []Memory, agent EntityID, turn ResponseID) int {
	for _, m := range slices.Backward(recent) {
		if m.Author == agent && m.Failure == "" && !m.Interrupted && m.InReplyTo != "" {
			if before, ok := TurnOf(m.ID); ok && before < turn {
				return int(turn - before)
			}
		}
	}
	return max(1, len(recent))
}

// TurnOf returns the turn whose answer the memory holds; ok is false if it holds none.
func TurnOf(id MemoryID) (turn ResponseID, ok bool) {
	at := strings.LastIndexByte(string(id), '#')
	n, err := strconv.ParseUint(string(id[at+1:]), 10, 63)
	return ResponseID(n), at >= 0 && err == nil
}
