package action

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Key identifies a call of the action name, of a kind that can be empty, in stored records of what people decided about
// it. It is the same when the call is made again, also by another process: it is computed from the run, the action, the
// parameters and how many such calls came before. The model's own ids are not the same in a new round.
func (c *Call) Key(name, kind string) string {
	nth := 0
	for _, e := range c.Earlier {
		if e.Action == name && string(e.Parameters) == string(c.Parameters) {
			nth++
		}
	}
	return Hash(string(c.Turn.Run), name, kind, Hash(string(c.Parameters)), fmt.Sprint(nth))
}

// ShortID returns the id of a call as a part of stored ids. Some models make ids of thousands of bytes, which a database
// can't index.
func ShortID(id string) string {
	if len(id) <= maxShortID {
		return id
	}
	return Hash(id)
}

const maxShortID = 128 // bytes

// Hash identifies texts. Their lengths are part of it, so that no other division of the same characters has the same
// hash.
func Hash(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%d:%s", len(t), t)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
