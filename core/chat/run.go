package chat

import (
	"strconv"
	"strings"
)

// Said returns the id of the memory that holds the run's answer.
func (r Run) Said() MemoryID { return MemoryID(r.ID) }

// TurnOf returns the turn whose answer the memory holds; ok is false if it holds none.
func TurnOf(id MemoryID) (turn ResponseID, ok bool) {
	at := strings.LastIndexByte(string(id), '#')
	n, err := strconv.ParseUint(string(id[at+1:]), 10, 63)
	return ResponseID(n), at >= 0 && err == nil
}
