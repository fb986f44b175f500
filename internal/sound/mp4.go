package sound

import "encoding/binary"

// mp4 returns the longest of the lengths that an MP4 file states: that of the film, of its tracks, and of their samples.
func mp4(data []byte) seconds {
	m := &movie{rate: 8000}
	m.boxes(data, 0)
	length := max(m.longest, m.samples*m.perSample/m.rate)
	if length == 0 {
		return 0
	}
	return max(length, seconds(len(data))/mostRate)
}

// movie holds the known properties of an MP4 file.
type movie struct {
	longest   seconds
	scale     seconds // of the track, per second
	samples   seconds // of all tracks
	perSample seconds // frames of sound
	rate      seconds // of sound; if it is unknown, the lowest
}

// containers are the boxes that hold other boxes on the way to lengths.
var containers = map[string]bool{"moov": true, "trak": true, "mdia": true, "minf": true, "stbl": true, "moof": true, "traf": true, "mvex": true} // never changed

const maxNested = 8

// boxes reads boxes in each other.
func (m *movie) boxes(data []byte, depth int) {
	for len(data) >= 8 && depth < maxNested {
		size, head := uint64(binary.BigEndian.Uint32(data)), 8
		switch {
		case size == 1 && len(data) >= 16:
			size, head = binary.BigEndian.Uint64(data[8:]), 16
		case size == 0:
			size = uint64(len(data))
		}
		if size < uint64(head) {
			return
		}
		end := int(min(size, uint64(len(data))))
		name, body := string(data[4:8]), data[head:end]
		if containers[name] {
			m.boxes(body, depth+1)
		} else {
			m.box(name, body)
		}
		data = data[end:]
	}
}

// box reads a box that has a length, or a part of one.
func (m *movie) box(name string, b []byte) {
	u32 := func(at int) seconds {
		if at+4 > len(b) {
			return 0
		}
		return seconds(binary.BigEndian.Uint32(b[at:]))
	}
	switch name {
	case "mvhd", "mdhd":
		scale, length := u32(12), u32(16)
		if len(b) >= 32 && b[0] == 1 {
			scale, length = u32(20), seconds(binary.BigEndian.Uint64(b[24:]))
		}
		if scale > 0 && length < 1<<32-1 {
			m.longest = max(m.longest, length/scale)
			m.scale = scale
		}
	case "stts":
		sum := seconds(0)
		for at := 8; at+8 <= len(b); at += 8 {
			sum += u32(at) * u32(at+4)
		}
		if m.scale > 0 {
			m.longest = max(m.longest, sum/m.scale)
		}
	case "stsz":
		m.samples += u32(8)
	case "trun":
		m.samples += u32(4)
	case "stsd":
		m.describe(b, u32(40)/65536)
	}
}

// describe reads how a track's sound is encoded.
func (m *movie) describe(b []byte, rate seconds) {
	if len(b) < 44 {
		return
	}
	switch string(b[12:16]) {
	case "mp4a":
		m.perSample = 1024
	case "alac":
		m.perSample = 4096
	default:
		return
	}
	if rate >= 8000 && rate <= 48000 {
		m.rate = rate
	}
}
