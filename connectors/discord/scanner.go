package discord

import (
	"bytes"
	"encoding/binary"
)

// scanner finds the frames in what a WebSocket server sends (RFC 6455, section 5.2). Servers don't mask.
type scanner struct {
	open    bool // the answer to the handshake has been read
	tail    []byte
	header  []byte
	left    uint64 // of the payload under way
	size    uint64
	payload []byte // of a frame that is short
}

var endOfHandshake = []byte("\r\n\r\n")

// read goes on with b and calls frame for each frame that ends in it, or is too large. When that is true it stops, and
// pass is how much of b comes before the frame.
func (s *scanner) read(b []byte, frame func(op byte, size uint64, payload []byte) (stop bool)) (pass int, stop bool) {
	begun := 0 // where the frame under way begins in b
	for i := 0; i < len(b); {
		switch {
		case !s.open:
			s.handshake(b[i])
			i++
			begun = i
			continue
		case s.left > 0:
			n := min(uint64(len(b)-i), s.left)
			if s.size <= controlFrame {
				s.payload = append(s.payload, b[i:i+int(n)]...)
			}
			s.left -= n
			i += int(n)
		default:
			s.header = append(s.header, b[i])
			i++
			if !s.sized() {
				continue
			}
			if s.size > mostFrame {
				s.left = 0
			}
		}
		if s.left > 0 {
			continue
		}
		if frame(s.header[0]&0x0f, s.size, s.payload) {
			return begun, true
		}
		s.header, s.payload, s.size = s.header[:0], s.payload[:0], 0
		begun = i
	}
	return len(b), false
}

func (s *scanner) handshake(c byte) {
	s.tail = append(s.tail, c)
	if len(s.tail) > len(endOfHandshake) {
		s.tail = s.tail[1:]
	}
	s.open = bytes.Equal(s.tail, endOfHandshake)
}

// sized reads the length of the payload as soon as the header is whole.
func (s *scanner) sized() bool {
	if len(s.header) < 2 {
		return false
	}
	switch n := s.header[1] & 0x7f; {
	case n < 126:
		s.size = uint64(n)
	case n == 126 && len(s.header) >= 4:
		s.size = uint64(binary.BigEndian.Uint16(s.header[2:]))
	case n == 127 && len(s.header) >= 10:
		s.size = binary.BigEndian.Uint64(s.header[2:])
	default:
		return false
	}
	s.left = s.size
	return true
}
