package sound

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func le(n, size int) string {
	return string(binary.LittleEndian.AppendUint64(nil, uint64(n))[:size])
}

func be(n, size int) string {
	return strings.Repeat("\x00", max(0, size-8)) + string(binary.BigEndian.AppendUint64(nil, uint64(n))[max(0, 8-size):])
}

func wavOf(kind, rate, claimed, size int) string {
	return "RIFF" + le(0, 4) + "WAVEfmt " + le(16, 4) + le(kind, 2) + le(1, 2) + le(rate, 4) + le(1, 4) + le(2, 2) + le(16, 2) + "LIST" + le(3, 4) + "abc\x00" +
		"data" + le(claimed, 4) + strings.Repeat("\x00", size)
}

// flacOf is a file whose header claims a number of samples at 16 kHz, with frames of 4096 samples each, and padding in each.
func flacOf(samples, frames, padding int) string {
	var b strings.Builder
	b.WriteString("fLaC\x80\x00\x00\x22" + be(4096, 2) + be(4096, 2) + be(0, 6) + be(16000<<44|15<<36|samples, 8) + strings.Repeat("\x00", 16))
	for n := range frames {
		b.WriteString(flacFrameOf(n) + strings.Repeat("\x00", padding))
	}
	return b.String()
}

func flacFrameOf(n int) string {
	header := "\xff\xf8\xc0\x00" + string(rune(n&0x7ff)) // its number is written as UTF-8 is
	return header + string([]byte{crc8([]byte(header))})
}

func oggOf(position int, packets ...string) string {
	sizes, body := "", ""
	for _, p := range packets {
		sizes += strings.Repeat("\xff", len(p)/255) + string([]byte{byte(len(p) % 255)})
		body += p
	}
	return "OggS\x00\x00" + le(position, 8) + le(7, 4) + le(0, 4) + le(0, 4) + string([]byte{byte(len(sizes))}) + sizes + body
}

func repeat(s string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = s
	}
	return all
}

func boxOf(name string, parts ...string) string {
	body := strings.Join(parts, "")
	return be(8+len(body), 4) + name + body
}

func mp4Of(scale, length, samples int) string {
	head := be(0, 12) + be(scale, 4) + be(length, 4) + be(0, 80)
	table := boxOf("stbl", boxOf("stsd", be(0, 4), be(1, 4), be(36, 4), "mp4a", be(0, 24), be(48000<<16, 4)), boxOf("stts", be(0, 4), be(1, 4), be(1, 4), be(length, 4)), boxOf("stsz", be(0, 8), be(samples, 4)))
	return boxOf("ftyp", "M4A ", be(0, 4)) + boxOf("moov", boxOf("mvhd", head), boxOf("trak", boxOf("mdia", boxOf("mdhd", head), boxOf("minf", table)))) + boxOf("mdat", strings.Repeat("\x00", 20_000))
}

func elementOf(id string, body string) string {
	return id + "\x10" + be(len(body), 3) + body
}

func webmOf(ticks float64, last int, packets int) string {
	info := elementOf("\x2a\xd7\xb1", be(1_000_000, 4))
	if ticks > 0 {
		info += elementOf("\x44\x89", be(int(math.Float64bits(ticks)), 8))
	}
	s := elementOf("\x1a\x45\xdf\xa3", "webm") + "\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xff" + elementOf("\x15\x49\xa9\x66", info) +
		elementOf("\x16\x54\xae\x6b", elementOf("\xae", elementOf("\x86", "A_OPUS"))) + "\x1f\x43\xb6\x75\x01\xff\xff\xff\xff\xff\xff\xff" + elementOf("\xe7", be(last-1, 3))
	for range packets {
		s += elementOf("\xa3", "\x81\x00\x01\x80"+opus20+strings.Repeat("x", 40))
	}
	return s
}

const opus20 = "\x78" // a packet of 20 ms

func TestLength(t *testing.T) {
	frame := "\xff\xfb\x90\x00" + strings.Repeat("\x00", 413)                                         // 128 kbit/s, 44.1 kHz
	aac := "\xff\xf1\x60\x00" + string([]byte{200 >> 3, 200 & 7 << 5, 0}) + string(make([]byte, 193)) // 200 bytes, 16 kHz
	vorbis := "\x01vorbis" + be(0, 4) + "\x01" + le(8000, 4) + be(0, 12) + "\xb8\x01"
	packet := opus20 + strings.Repeat("x", 40)
	for name, c := range map[string]struct {
		data string
		want time.Duration
		err  error
	}{
		"WAV":                      {wavOf(1, 16000, 64000, 64000), 2 * time.Second, nil},
		"WAV that claims less":     {wavOf(1, 16000, 2, 64000), 2 * time.Second, nil},
		"WAV, compressed":          {wavOf(0x11, 16000, 64000, 64000), 0, ErrUnknown},
		"WAV without a rate":       {wavOf(1, 0, 64000, 64000), 0, ErrUnknown},
		"FLAC":                     {flacOf(4096*100, 100, 200), 25600 * time.Millisecond, nil},
		"FLAC that claims less":    {flacOf(1, 100, 200), 25600 * time.Millisecond, nil},
		"FLAC that claims nothing": {flacOf(0, 100, 200), 25600 * time.Millisecond, nil},
		"FLAC that claims more":    {flacOf(32000*30, 100, 200), 60 * time.Second, nil},
		"ten hours of silence":     {flacOf(16000*36000, 1000, 50), 0, ErrTooLong},
		"silence that claims less": {flacOf(16000, 5000, 5), 0, ErrTooLong},
		"MP3":                      {strings.Repeat(frame, 100), 2612244897, nil},
		"MP3 with tags":            {"ID3\x04\x00\x00\x00\x00\x00\x05tags." + strings.Repeat(frame, 100) + "TAG" + strings.Repeat("x", 125), 2612244897, nil},
		"MP3 that claims more":     {strings.Replace(frame, "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "Xing"+be(1, 4)+be(1000, 4), 1) + strings.Repeat(frame, 99), 26122448979, nil},
		"MP3 that claims less":     {strings.Replace(frame, "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "Info"+be(1, 4)+be(1, 4), 1) + strings.Repeat(frame, 99), 2612244897, nil},
		"MP3 without a rate":       {strings.Repeat("\xff\xfb\x00\x00"+strings.Repeat("\x00", 413), 9), 0, ErrUnknown},
		"AAC":                      {strings.Repeat(aac, 100), 6400 * time.Millisecond, nil},
		"Opus":                     {oggOf(0, "OpusHead"+be(0, 11)) + oggOf(0, "OpusTags") + oggOf(48000*2, repeat(packet, 100)...), 2 * time.Second, nil},
		"Opus that claims less":    {oggOf(0, "OpusHead"+be(0, 11)) + oggOf(0, "OpusTags") + oggOf(48, repeat(packet, 100)...), 2 * time.Second, nil},
		"Opus that claims more":    {oggOf(0, "OpusHead"+be(0, 11)) + oggOf(0, "OpusTags") + oggOf(48000*9, repeat(packet, 100)...), 9 * time.Second, nil},
		"Opus, cut":                {oggOf(0, "OpusHead"+be(0, 11)) + oggOf(0, "OpusTags") + oggOf(48000*2, repeat(packet, 100)...)[:3000], 2 * time.Second, nil},
		"Opus of empty packets":    {oggOf(0, "OpusHead"+be(0, 11)) + oggOf(0, "OpusTags") + oggOf(48, append([]string{packet}, repeat("", 200)...)...), 4020 * time.Millisecond, nil},
		"Vorbis":                   {oggOf(0, vorbis) + oggOf(0, "\x03vorbis", "\x05vorbis") + oggOf(8000*9, repeat("\x00"+strings.Repeat("x", 90), 20)...), 9 * time.Second, nil},
		"Vorbis that claims less":  {oggOf(0, vorbis) + oggOf(0, "\x03vorbis", "\x05vorbis") + oggOf(1, repeat("\x00"+strings.Repeat("x", 90), 20)...), 2560 * time.Millisecond, nil},
		"FLAC in Ogg":              {oggOf(0, "\x7fFLAC\x01\x00\x00\x01"+flacOf(0, 0, 0)) + oggOf(0, "comment") + oggOf(1, repeat(flacFrameOf(3)+strings.Repeat("\x00", 90), 20)...), 5120 * time.Millisecond, nil},
		"Ogg of another kind":      {oggOf(0, "Speex   ") + oggOf(0, repeat(packet, 100)...), 0, ErrUnknown},
		"MP4":                      {mp4Of(48000, 48000*9, 9*48000/1024), 9 * time.Second, nil},
		"MP4 that claims less":     {mp4Of(48000, 1, 9*48000/1024+1), 9002666666, nil},
		"MP4 without anything":     {boxOf("ftyp", "M4A ", be(0, 4)) + boxOf("mdat", strings.Repeat("\x00", 20_000)), 0, ErrUnknown},
		"MP4 of many samples":      {mp4Of(48000, 48000, 1<<31), 0, ErrTooLong},
		"WebM":                     {webmOf(9000, 2000, 100), 9 * time.Second, nil},
		"WebM without a length":    {webmOf(0, 3000, 100), 3 * time.Second, nil},
		"WebM that claims less":    {webmOf(1, 1, 100), 2 * time.Second, nil},
		"WebM without a number":    {webmOf(math.Inf(1), 1, 100), 0, ErrUnknown},
		"AMR":                      {"#!AMR\n" + strings.Repeat("\x3c"+strings.Repeat("x", 31), 100), 2 * time.Second, nil},
		"wide AMR":                 {"#!AMR-WB\n" + strings.Repeat("\x04"+strings.Repeat("x", 17), 100), 2 * time.Second, nil},
		"nothing":                  {"", 0, ErrUnknown},
		"no sound":                 {strings.Repeat("hello", 1000), 0, ErrUnknown},
	} {
		got, err := Length([]byte(c.data))
		if got.Round(time.Microsecond) != c.want.Round(time.Microsecond) || !errors.Is(err, c.err) || c.err == nil && err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// Whatever the bytes are, measuring ends without a panic, and with a length that can be paid.
func FuzzLength(f *testing.F) {
	for _, s := range []string{
		wavOf(1, 16000, 6, 6), flacOf(9, 2, 3), oggOf(0, "OpusHead") + oggOf(9, "", "x", "yy"), mp4Of(9, 9, 9)[:300], webmOf(9, 9, 2), "#!AMR\n\x3c", "\xff\xfb\x90\x00", "\xff\xf1\x60\x00aaaa", "ID3aaaaaaaa",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		length, err := Length(bytes.Clone(data))
		if length < 0 || err == nil && (length == 0 || length > time.Duration(len(data)/leastRate+2)*time.Second) {
			t.Errorf("%v, %v", length, err)
		}
	})
}
