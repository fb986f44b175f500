package encoding

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// candidate is an encoding with the script that is written in it.
type candidate struct {
	encoding.Encoding
	script script
}

// The candidates. Of equally good ones the first is taken.
var (
	ofFiles = append([]candidate{{charmap.Windows1252, latin}}, notLatin...) // never changed, as the next
	// ofNames are the encodings of names in ZIP archives, which come from systems with older encodings.
	ofNames  = append(append([]candidate{}, notLatin...), candidate{charmap.CodePage437, latin}, candidate{charmap.Windows1252, latin})
	notLatin = []candidate{
		{charmap.Windows1251, cyrillic}, {charmap.KOI8R, cyrillic}, {charmap.KOI8U, cyrillic}, {charmap.CodePage866, cyrillic}, {charmap.ISO8859_5, cyrillic},
		{simplifiedchinese.GB18030, simplified}, {traditionalchinese.Big5, traditional}, {japanese.ShiftJIS, kana}, {japanese.EUCJP, kana},
		{korean.EUCKR, hangul}, {charmap.Windows1253, greek}, {charmap.Windows1255, hebrew}, {charmap.Windows1256, arabic}, {charmap.Windows874, thai},
		{charmap.Windows1250, central}, {charmap.ISO8859_2, central},
	}
)

const (
	// maxSample limits the part of a text that is compared with each encoding, in bytes.
	maxSample = 16 << 10
	// leastLatin and leastOther are the scores below which text is not taken for its script.
	leastLatin, leastOther = 0.15, 0.45
	leastUTF16             = 0.6
)

// guess returns the most plausible encoding of the data, or nil.
func guess(data []byte, all []candidate) (best encoding.Encoding) {
	data = sample(data)
	most := 0.0
	for _, c := range all {
		least := leastOther
		if c.script.latin {
			least = leastLatin
		}
		if s := c.script.score(decode(c, data)); s >= least && s > most {
			best, most = c, s
		}
	}
	return best
}

// guessUTF16 returns the byte order of UTF-16 without a mark, or nil. All of its characters have to make sense, as binary
// data must not be taken for text.
func guessUTF16(data []byte) encoding.Encoding {
	data = data[:min(len(data), maxSample)&^1]
	if len(data) < 4 {
		return nil
	}
	for _, order := range []encoding.Encoding{littleEndian, bigEndian} {
		text := decode(order, data)
		for _, s := range scripts {
			if s.density(text) >= leastUTF16 {
				return order
			}
		}
	}
	return nil
}

// sample returns lines of a text that tell its encoding: those that are not ASCII.
func sample(data []byte) []byte {
	var some []byte
	for line := range bytes.Lines(data) {
		if !bytes.ContainsFunc(line, func(r rune) bool { return r >= utf8.RuneSelf }) {
			continue
		}
		if some = append(some, line...); len(some) >= maxSample {
			return some[:maxSample]
		}
	}
	return some
}

// score returns the plausibility in the script of the characters of a text that are not ASCII: from 1, all are common
// letters where they can stand, down to -3.
func (s script) score(text string) float64 {
	sum, n := 0.0, 0
	runes := []rune(text)
	at := func(i int) rune {
		if i < 0 || i >= len(runes) {
			return ' '
		}
		return runes[i]
	}
	for i, r := range runes {
		if r < utf8.RuneSelf {
			continue
		}
		n++
		sum += s.weigh(at(i-1), r, at(i+1))
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// weigh returns the plausibility of r between its neighbors.
func (s script) weigh(before, r, after rune) float64 {
	foreign := isASCIILetter(before) || isASCIILetter(after)
	inWord := unicode.IsLetter(before) && unicode.IsLetter(after)
	switch {
	case r == utf8.RuneError || unicode.In(r, unicode.C):
		return -3
	case s.is(r) && s.latin:
		return s.weighLatin(before, r, after)
	case s.is(r) && (foreign || unicode.IsUpper(r) && unicode.IsLower(before)):
		return -1
	case unicode.Is(unicode.Mn, r) && !s.is(before): // a mark stands on a letter
		return -1
	case s.common[unicode.ToLower(r)] && (unicode.IsLetter(before) || unicode.IsLetter(after)):
		return 1
	case s.common[unicode.ToLower(r)]:
		return 0.5
	case s.is(r):
		return s.rare()
	case isWide(r) && s.wide && !foreign:
		return 1
	case (r == '¿' || r == '¡') && isASCIILetter(after) && !inWord:
		return 1
	case r == '’' && inWord:
		return 0.8
	case isMark(r) && !inWord:
		return 0.5
	}
	return -1
}

// weighLatin weighs a Latin letter with an accent, which stands among letters without one.
func (s script) weighLatin(before, r, after rune) float64 {
	switch {
	case unicode.IsUpper(r) && unicode.IsLower(before), !s.common[unicode.ToLower(r)]:
		return -0.5
	case isASCIILetter(before) || isASCIILetter(after):
		return 0.8
	case unicode.IsLetter(before) && unicode.IsLetter(after): // between letters with accents
		return 0
	}
	return 0.5
}

// density returns the plausibility of all characters of a text in the script, or in ASCII.
func (s script) density(text string) float64 {
	sum, n := 0.0, 0
	for _, r := range text {
		n++
		switch {
		case r == '\n' || r == '\r' || r == '\t' || r >= ' ' && r < 0x7f || s.common[unicode.ToLower(r)]:
			sum++
		case s.is(r):
			sum += s.rare()
		case isMark(r):
			sum += 0.5
		default:
			sum -= 3
		}
	}
	return sum / float64(max(n, 1))
}

func isASCIILetter(r rune) bool { return r < utf8.RuneSelf && unicode.IsLetter(r) }

// isMark reports whether r is punctuation or a sign of texts in any language.
func isMark(r rune) bool {
	return unicode.IsPunct(r) || unicode.IsSpace(r) || unicode.Is(unicode.Sc, r) || r == '°' || r == '©' || r == '®' || r == '№' || r == '™' ||
		isWide(r) || unicode.In(r, unicode.No, unicode.Sm) || unicode.Is(unicode.So, r) && r > 0xffff
}

// isWide reports whether r is punctuation of East Asian texts.
func isWide(r rune) bool { return r >= 0x3000 && r <= 0x301f || r >= 0xff01 && r <= 0xff1f }
