package sound

import (
	"bytes"
	"encoding/binary"
	"math"
)

// The elements of Matroska (RFC 9559) that matter here. The content of masters is read as if it followed them.
const (
	segmentID, clusterID, infoID, tracksID, trackID, groupID = 0x18538067, 0x1f43b675, 0x1549a966, 0x1654ae6b, 0xae, 0xa0
	scaleID, durationID, timeID, simpleID, blockID, codecID  = 0x2ad7b1, 0x4489, 0xe7, 0xa3, 0xa1, 0x86
)

// webm returns the longest of the lengths that a WebM file states: that of the file, of its blocks' times, and of its
// packets of Opus.
func webm(data []byte) seconds {
	var duration, packets float64
	var cluster, last uint64
	tick, isOpus := 1e-3, false
	for len(data) > 0 {
		id, n := vint(data, true)
		size, m := vint(data[min(n, len(data)):], false)
		if n == 0 || m == 0 {
			break
		}
		data = data[n+m:]
		switch id {
		case segmentID, clusterID, infoID, tracksID, trackID, groupID:
			continue
		}
		body := data[:min(size, uint64(len(data)))]
		data = data[len(body):]
		switch id {
		case scaleID:
			tick = float64(number(body)) * 1e-9
		case durationID:
			duration = float(body)
		case timeID:
			cluster = number(body)
		case codecID:
			isOpus = isOpus || bytes.Equal(body, []byte("A_OPUS"))
		case simpleID, blockID:
			if len(body) < 4 {
				continue
			}
			last = max(last, cluster+uint64(binary.BigEndian.Uint16(body[1:])&0x7fff))
			if isOpus {
				packets += float64(block(body))
			}
		}
	}
	length := seconds(max(duration*tick, float64(last)*tick, packets))
	if length == 0 {
		return 0
	}
	return max(length, seconds(len(data))/mostRate)
}

// block returns the length of the packets of Opus in a block. Packets that are laced together are taken to be alike.
func block(body []byte) seconds {
	if body[3]&0x06 == 0 {
		return opus(body[4:])
	}
	if len(body) < 6 {
		return 0
	}
	return seconds(int(body[4])+1) * 0.06
}

// vint reads a number of variable length, and returns it with its number of bytes; 0 if there is none. That of an id
// has its mark.
func vint(data []byte, isID bool) (value uint64, n int) {
	if len(data) == 0 || data[0] == 0 {
		return 0, 0
	}
	n = 1
	for b := data[0]; b&0x80 == 0; b <<= 1 {
		n++
	}
	if n > len(data) {
		return 0, 0
	}
	value = number(data[:n])
	if !isID {
		value &= 1<<(7*n) - 1
	}
	return value, n
}

func number(b []byte) (n uint64) {
	for _, c := range b[:min(len(b), 8)] {
		n = n<<8 | uint64(c)
	}
	return n
}

func float(b []byte) float64 {
	switch len(b) {
	case 4:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
	case 8:
		return math.Float64frombits(binary.BigEndian.Uint64(b))
	}
	return 0
}
