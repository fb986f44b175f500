package sound

import (
	"bytes"
	"encoding/binary"
)

// ogg returns the sum of the lengths of all streams in an Ogg file: each by its positions or its packets.
func ogg(data []byte) (sum seconds) {
	streams := map[uint32]*stream{}
	for len(data) >= 27 {
		segments := int(data[26])
		if string(data[:4]) != "OggS" || len(data) < 27+segments {
			next := bytes.Index(data[1:], []byte("OggS"))
			if next < 0 {
				break
			}
			data = data[1+next:]
			continue
		}
		serial := binary.LittleEndian.Uint32(data[14:])
		if streams[serial] == nil {
			streams[serial] = &stream{}
		}
		data = streams[serial].page(data, 27+segments)
	}
	for _, s := range streams {
		length := s.length()
		if length == 0 {
			return 0 // of an unknown kind, which can be as long as it likes
		}
		sum += length
	}
	return sum
}

// stream holds the known properties of a stream in an Ogg file.
type stream struct {
	codec   string
	rate    seconds // of its positions
	most    seconds // length of a packet of Vorbis
	last    seconds // length of the packet of Opus before
	sum     seconds // of the packets
	highest int64   // position
	packets int
	within  bool // a packet continues in the next page
}

// page reads a page, whose packets begin at an offset, and returns the data behind it.
func (s *stream) page(data []byte, at int) []byte {
	if position := int64(binary.LittleEndian.Uint64(data[6:])); position > s.highest {
		s.highest = position
	}
	begin := at
	for _, size := range data[27:at] {
		end := min(at+int(size), len(data))
		if at = end; size == 255 {
			if !s.within {
				s.within = true
				s.packet(data[begin:min(begin+64, len(data))])
			}
			continue
		}
		if !s.within {
			s.packet(data[begin:end])
		}
		s.within, begin = false, end
	}
	return data[at:]
}

// packet counts a packet by its beginning.
func (s *stream) packet(p []byte) {
	if s.packets++; s.packets == 1 {
		s.identify(p)
		return
	}
	switch s.codec {
	case "opus":
		if s.packets > 2 { // the second has comments
			if length := opus(p); length > 0 {
				s.last = length
			}
			s.sum += s.last
		}
	case "vorbis":
		if len(p) > 0 && p[0]&1 == 0 { // others are headers
			s.sum += s.most
		}
	case "flac":
		s.sum += flacFrame(p, int(s.rate))
	}
}

func (s *stream) identify(p []byte) {
	switch {
	case bytes.HasPrefix(p, []byte("OpusHead")):
		s.codec, s.rate = "opus", 48000
	case bytes.HasPrefix(p, []byte("\x01vorbis")) && len(p) >= 30:
		if rate := seconds(binary.LittleEndian.Uint32(p[12:])); rate > 0 {
			s.codec, s.rate, s.most = "vorbis", rate, seconds(int(1)<<(p[28]>>4))/2/rate
		}
	case bytes.HasPrefix(p, []byte("\x7fFLAC")) && len(p) >= 51:
		if rate := int(p[27])<<12 | int(p[28])<<4 | int(p[29])>>4; rate > 0 {
			s.codec, s.rate = "flac", seconds(rate)
		}
	}
}

func (s *stream) length() seconds {
	if s.codec == "" {
		return 0
	}
	return max(s.sum, seconds(s.highest)/s.rate)
}

// opus returns the length of a packet of Opus (RFC 6716, section 3.1); 0 if it is empty.
func opus(p []byte) seconds {
	if len(p) == 0 {
		return 0
	}
	config := int(p[0] >> 3)
	length := []seconds{0.01, 0.02, 0.04, 0.06}[config%4]
	switch {
	case config >= 16:
		length = []seconds{0.0025, 0.005, 0.01, 0.02}[config%4]
	case config >= 12:
		length = []seconds{0.01, 0.02}[config%2]
	}
	switch p[0] & 3 {
	case 1, 2:
		length *= 2
	case 3:
		if len(p) > 1 {
			length *= seconds(p[1] & 0x3f)
		}
	}
	return min(length, 0.12)
}
