// Package sound measures the playing time of sound files, without decoding them.
//
// Transcription is paid by the second, and files come from strangers: a header can claim any length, and silence takes
// hardly any bytes. So a length is the larger one of the header's claim and the sum of the file's frames.
package sound

import (
	"bytes"
	"errors"
	"math"
	"time"
)

var (
	// ErrUnknown means that the length of a file can't be determined: its format is not known, or it is damaged.
	ErrUnknown = errors.New("the length of the sound can't be determined")
	// ErrTooLong means that a file plays longer than sound of its size can, except for silence.
	ErrTooLong = errors.New("the sound is too long for its size")
)

const (
	// leastRate is less than the bytes that a second of speech takes in any known format.
	leastRate = 100
	// mostRate is more than the bytes of a second in the formats whose frames are not counted.
	mostRate = 64_000
)

// seconds is a length while it is measured. It can be anything, as files are not trusted.
type seconds float64

// Length returns the playing time of a file: FLAC, WAV, Ogg (Opus, Vorbis, FLAC), MP3, AAC, MP4 (M4A), WebM or AMR. It takes
// time in proportion to the size of the file. It fails with [ErrUnknown], and with [ErrTooLong] for a length that the size
// can't hold.
func Length(data []byte) (time.Duration, error) {
	length := measure(data)
	switch {
	case !(length > 0) || math.IsInf(float64(length), 0):
		return 0, ErrUnknown
	case length > seconds(len(data))/leastRate+1:
		return 0, ErrTooLong
	}
	return time.Duration(float64(length) * float64(time.Second)), nil
}

// measure returns the length of a file; 0 if it is unknown.
func measure(data []byte) seconds {
	data = afterTags(data)
	switch {
	case bytes.HasPrefix(data, []byte("fLaC")):
		return flac(data)
	case bytes.HasPrefix(data, []byte("OggS")):
		return ogg(data)
	case len(data) > 12 && string(data[8:12]) == "WAVE":
		return wav(data)
	case len(data) > 12 && string(data[4:8]) == "ftyp":
		return mp4(data)
	case bytes.HasPrefix(data, []byte("\x1a\x45\xdf\xa3")):
		return webm(data)
	case bytes.HasPrefix(data, []byte("#!AMR")):
		return amr(data)
	}
	return mpeg(data)
}

// afterTags returns a file without the ID3v2 tags at its beginning.
func afterTags(data []byte) []byte {
	for len(data) > 10 && string(data[:3]) == "ID3" {
		size := int(data[6]&0x7f)<<21 | int(data[7]&0x7f)<<14 | int(data[8]&0x7f)<<7 | int(data[9]&0x7f)
		data = data[min(10+size, len(data)):]
	}
	return data
}

// amr adds up the frames of AMR, which are 20 ms long.
func amr(data []byte) seconds {
	sizes := []int{12, 13, 15, 17, 19, 20, 26, 31, 5} // by the type of the frame
	rest, wide := bytes.CutPrefix(data, []byte("#!AMR-WB\n"))
	if wide {
		sizes = []int{17, 23, 32, 36, 40, 46, 50, 58, 60, 5}
	} else {
		rest = bytes.TrimPrefix(data, []byte("#!AMR\n"))
	}
	n := 0
	for ; len(rest) > 0; n++ {
		size := 1
		if kind := int(rest[0] >> 3 & 0xf); kind < len(sizes) {
			size += sizes[kind]
		}
		rest = rest[min(size, len(rest)):]
	}
	return seconds(n) * 0.02
}
