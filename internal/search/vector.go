package search

import (
	"encoding/binary"
	"math"
	"slices"
)

// Near is the least cosine similarity of texts that have something in common.
const Near = 0.3

// Unit returns v with length 1; nil if it has none, or can't be computed with.
func Unit(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsInf(sum, 0) || math.IsNaN(sum) {
		return nil
	}
	unit, length := slices.Clone(v), math.Sqrt(sum)
	for i, x := range v {
		unit[i] = float32(float64(x) / length) // not by a factor: that of the smallest numbers is no float32
	}
	return unit
}

// Pack returns a vector in little space: the direction of v, one byte for each number, after the scale of these (four
// bytes, little-endian). It is a quarter of the size, and the order of similarities stays nearly the same. The form is
// stored. The result is empty, not nil, for a vector without a direction.
func Pack(v []float32) []byte {
	v = Unit(v)
	if v == nil {
		return []byte{}
	}
	most := float32(0)
	for _, x := range v {
		most = max(most, float32(math.Abs(float64(x))))
	}
	packed := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(v)), math.Float32bits(most/127))
	for _, x := range v {
		packed = append(packed, byte(int8(math.Round(float64(x/most*127)))))
	}
	return packed
}

// Similarity returns the cosine similarity of a [Unit] vector and a packed one. ok is false if they can't be compared:
// they have different lengths, as those of different models, or the packed one is damaged.
func Similarity(unit []float32, packed []byte) (similarity float32, ok bool) {
	if len(packed) != 4+len(unit) || len(unit) == 0 {
		return 0, false
	}
	scale := math.Float32frombits(binary.LittleEndian.Uint32(packed))
	numbers := packed[4:][:len(unit)]
	var a, b, c, d float32 // four sums, because each addition waits for the one before it
	i := 0
	for ; i+4 <= len(unit); i += 4 {
		a += unit[i] * float32(int8(numbers[i]))
		b += unit[i+1] * float32(int8(numbers[i+1]))
		c += unit[i+2] * float32(int8(numbers[i+2]))
		d += unit[i+3] * float32(int8(numbers[i+3]))
	}
	for ; i < len(unit); i++ {
		a += unit[i] * float32(int8(numbers[i]))
	}
	similarity = (a + b + c + d) * scale
	return similarity, scale > 0 && similarity > -1.1 && similarity < 1.1
}

// Nearest collects the texts that are nearest to a vector, at most Limit. It is not safe for concurrent use.
type Nearest struct {
	Unit  []float32
	Limit int
	// Damaged are texts whose vectors can't be compared. The caller has them embedded again.
	Damaged []int64

	best []Scored
}

// Add compares a text. One with an empty vector is near to nothing.
func (n *Nearest) Add(id int64, packed []byte) {
	if len(packed) == 0 || n.Limit <= 0 {
		return
	}
	s, ok := Similarity(n.Unit, packed)
	if !ok {
		n.Damaged = append(n.Damaged, id)
		return
	}
	score := float64(s)
	if score < Near || len(n.best) == n.Limit && score <= n.best[len(n.best)-1].Score {
		return
	}
	at, _ := slices.BinarySearchFunc(n.best, score, func(o Scored, score float64) int {
		if o.Score >= score {
			return -1
		}
		return 1
	})
	n.best = slices.Insert(n.best, at, Scored{id, score})
	n.best = n.best[:min(len(n.best), n.Limit)]
}

// IDs returns the nearest texts, the nearest first.
func (n *Nearest) IDs() (all []int64) {
	for _, s := range n.best {
		all = append(all, s.ID)
	}
	return all
}
