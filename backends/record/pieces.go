package record

import (
	"encoding/hex"
	"fmt"

	"parley/core/chat"
)

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

// ScanPieceVector reads the columns piece and vector. A key of another length can't be one of this program.
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
