package sound

import (
	"bytes"
	"encoding/binary"
)

// wav divides the bytes of samples by their rate. The size that the header claims for them is not used: players read on.
func wav(data []byte) seconds {
	var rate seconds // bytes of a second
	for at := 12; at+8 <= len(data); {
		size, body := int(binary.LittleEndian.Uint32(data[at+4:])), data[at+8:]
		switch string(data[at : at+4]) {
		case "fmt ":
			if len(body) < 16 {
				return 0
			}
			switch binary.LittleEndian.Uint16(body) {
			case 1, 3, 6, 7, 0xfffe: // whole numbers, fractions, A-law, μ-law, or one of them; others are compressed
				rate = seconds(binary.LittleEndian.Uint32(body[4:])) * seconds(binary.LittleEndian.Uint16(body[2:])) * seconds(binary.LittleEndian.Uint16(body[14:])) / 8
			default:
				return 0
			}
		case "data":
			if rate <= 0 {
				return 0
			}
			return seconds(len(body)) / rate
		}
		at += 8 + size + size&1
	}
	return 0
}

// flac returns the length in the header, or that of all frames.
func flac(data []byte) seconds {
	if len(data) < 42 {
		return 0
	}
	info := data[8:]
	rate := int(info[10])<<12 | int(info[11])<<4 | int(info[12])>>4
	total := seconds(binary.BigEndian.Uint64(info[10:]) & (1<<36 - 1))
	if rate == 0 {
		return 0
	}
	frames := seconds(0)
	for at := 42; ; at++ {
		next := bytes.IndexByte(data[at:], 0xff)
		if next < 0 {
			return max(total/seconds(rate), frames)
		}
		at += next
		frames += flacFrame(data[at:], rate)
	}
}

// flacRates are the sample rates of frames by their codes; 0 is that of the file.
var flacRates = [12]int{0, 88200, 176400, 192000, 8000, 16000, 22050, 24000, 32000, 44100, 48000, 96000} // never changed

// flacFrame returns the length of the frame whose header begins here; 0 if none does, by its checksum (RFC 9639, section 9.1).
func flacFrame(data []byte, rate int) seconds {
	if len(data) < 6 || data[0] != 0xff || data[1]&0xfe != 0xf8 || data[3]&1 != 0 {
		return 0
	}
	size, code := int(data[2]>>4), int(data[2]&0xf)
	end := 5 // after the number of the frame
	for b := data[4]; b&0xc0 == 0xc0 && b != 0xff; b <<= 1 {
		end++
	}
	samples, more := 0, 0
	switch {
	case size == 0 || code == 15:
		return 0
	case size == 1:
		samples = 192
	case size <= 5:
		samples = 144 << size
	case size <= 7:
		more = size - 5
	default:
		samples = 1 << size
	}
	extra := more
	switch {
	case code == 12:
		extra++
	case code > 12:
		extra += 2
	case flacRates[code] > 0:
		rate = flacRates[code]
	}
	if end+extra >= len(data) || crc8(data[:end+extra]) != data[end+extra] {
		return 0
	}
	for _, b := range data[end : end+more] {
		samples = samples<<8 | int(b)
	}
	if more > 0 {
		samples++
	}
	return seconds(samples) / seconds(rate)
}

// crc8 is the checksum of the header of a FLAC frame.
func crc8(data []byte) (sum byte) {
	for _, b := range data {
		sum ^= b
		for range 8 {
			if sum&0x80 != 0 {
				sum = sum<<1 ^ 0x07
			} else {
				sum <<= 1
			}
		}
	}
	return sum
}
