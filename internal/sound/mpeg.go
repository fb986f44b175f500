package sound

import (
	"bytes"
	"encoding/binary"
)

// mpeg adds up the frames of MP3 or AAC. The number of frames that a header claims counts if it is larger.
func mpeg(data []byte) seconds {
	var sum, claimed seconds
	for at := 0; at+7 <= len(data); {
		f := mpegFrame(data[at:])
		switch {
		case f.free:
			return 0
		case f.size == 0 && at == 0:
			return 0
		case f.size == 0: // not at a frame: find the next
			next := bytes.IndexByte(data[at+1:], 0xff)
			if next < 0 {
				return max(sum, claimed)
			}
			at += 1 + next
			continue
		}
		if sum == 0 {
			claimed = seconds(claimedFrames(data[at:min(at+f.size, len(data))])) * f.length
		}
		sum += f.length
		at += f.size
	}
	return max(sum, claimed)
}

// frame is a frame of MP3 or AAC. A size of 0 means that there is none.
type frame struct {
	size   int // bytes
	length seconds
	free   bool // its size is not stated
}

var ( // never changed
	// bitrates are in kbit/s, by version and layer: 1 with the layers I, II and III, then 2 and 2.5 with I, and with II and III.
	bitrates = [5][15]int{
		{0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448},
		{0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384},
		{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},
		{0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256},
		{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
	}
	mp3Rates = [3]int{44100, 48000, 32000}
	aacRates = [13]int{96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350}
)

// mpegFrame reads the header of a frame, which has 7 bytes at least.
func mpegFrame(data []byte) frame {
	if data[0] != 0xff || data[1]&0xe0 != 0xe0 {
		return frame{}
	}
	if data[1]&0xf6 == 0xf0 {
		return aacFrame(data)
	}
	version, layer := data[1]>>3&3, 4-int(data[1]>>1&3)
	bit, rate := data[2]>>4, int(data[2]>>2&3)
	if version == 1 || layer == 4 || bit == 15 || rate == 3 {
		return frame{}
	}
	hertz, table, samples := mp3Rates[rate], layer-1, 1152
	switch version {
	case 2:
		hertz, table = hertz/2, min(layer, 2)+2
	case 0:
		hertz, table = hertz/4, min(layer, 2)+2
	}
	switch {
	case layer == 1:
		samples = 384
	case layer == 3 && version != 3:
		samples = 576
	}
	f := frame{length: seconds(samples) / seconds(hertz), free: bit == 0}
	pad := int(data[2] >> 1 & 1)
	if layer == 1 {
		f.size = (12*1000*bitrates[table][bit]/hertz + pad) * 4
	} else {
		f.size = samples/8*1000*bitrates[table][bit]/hertz + pad
	}
	return f
}

// aacFrame reads the header of an ADTS frame.
func aacFrame(data []byte) frame {
	rate := int(data[2] >> 2 & 0xf)
	size := int(data[3]&3)<<11 | int(data[4])<<3 | int(data[5])>>5
	if rate >= len(aacRates) || size < 7 {
		return frame{}
	}
	return frame{size: size, length: 1024 * seconds(data[6]&3+1) / seconds(aacRates[rate])}
}

// claimedFrames returns the number of frames that the first one states, as encoders with a variable rate write it.
func claimedFrames(first []byte) uint32 {
	for _, name := range []string{"Xing", "Info"} {
		if at := bytes.Index(first, []byte(name)); at >= 0 && at+12 <= len(first) && first[at+7]&1 != 0 {
			return binary.BigEndian.Uint32(first[at+8:])
		}
	}
	if at := bytes.Index(first, []byte("VBRI")); at >= 0 && at+18 <= len(first) {
		return binary.BigEndian.Uint32(first[at+14:])
	}
	return 0
}
