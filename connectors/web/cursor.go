package web

import (
	"fmt"
	"strings"
)

// cursor is the part of an answer's text that a client has: its length and its hash (FNV-1a). It is valid as long as the answer
// begins with that text. So every gateway can continue from it, and none has to remember it. The zero cursor is no text.
type cursor struct {
	bytes int
	hash  uint64
}

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// add returns the cursor after more text.
func (c cursor) add(text string) cursor {
	if c.bytes == 0 {
		c.hash = fnvOffset
	}
	for i := range len(text) {
		c.hash = (c.hash ^ uint64(text[i])) * fnvPrime
	}
	c.bytes += len(text)
	return c
}

// begins reports whether text begins with that of the cursor, which is not empty.
func (c cursor) begins(text string) bool {
	return c.bytes > 0 && c.bytes <= len(text) && cursor{}.add(text[:c.bytes]) == c
}

// String returns the form that clients get.
func (c cursor) String() string { return fmt.Sprintf("%d-%x", c.bytes, c.hash) }

// from returns the wishes of a client that asks for cursors, and has the text up to after; nil: it does not ask. An unknown cursor
// is no text.
func (w wishes) from(after *string) wishes {
	if after == nil {
		return w
	}
	w.cursors = true
	if _, err := fmt.Fscanf(strings.NewReader(*after), "%d-%x", &w.after.bytes, &w.after.hash); err != nil {
		w.after = cursor{}
	}
	return w
}
