package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// CutBytes returns s cut to at most n bytes.
func CutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Brief returns s as one line of at most most characters, without invisible ones. It reads no more of s than needed.
func Brief(s string, most int) string {
	cut := false
	if limit := 4 * most; len(s) > limit {
		s, cut = strings.ToValidUTF8(s[:limit], ""), true
	}
	s = strings.Join(strings.Fields(Visible(s)), " ")
	if runes := []rune(s); len(runes) > most {
		s, cut = strings.TrimSpace(string(runes[:most-1])), true
	}
	if cut {
		s += "…"
	}
	return s
}

// FirstSentence returns the first sentence of a Markdown text, without markup of blocks, in at most most characters. It is empty if there
// are no words.
func FirstSentence(s string, most int) string {
	for line := range strings.Lines(s) {
		line = withoutBlockMarks(line)
		for i, r := range line {
			end := i + len(string(r))
			if strings.ContainsRune("。！？", r) || strings.ContainsRune(".!?", r) && end < len(line) && line[end] == ' ' {
				line = line[:end]
				break
			}
		}
		if line = Brief(line, most); line != "" {
			return line
		}
	}
	return ""
}

// withoutBlockMarks returns a line without the marks of headings, quotes, lists and tables before its words. Marks of styles stay: without
// one of a pair, users would see the other one. A line that only has marks, or opens code, is empty.
func withoutBlockMarks(line string) string {
	line = strings.TrimSpace(line)
	for line != "" {
		rest := strings.TrimLeft(line, "#>*-+_|~`=:")
		if rest != "" && rest[0] != ' ' {
			break
		}
		line = strings.TrimLeft(rest, " \t")
	}
	if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
		return ""
	}
	return line
}

const charsIn = 4 // Latin letters per token

// CutMark stands in place of the truncated rest of a text.
const CutMark = "\n[truncated]"

// Tokens estimates the number of tokens of texts in a row, rather too high than too low: a token for four Latin
// characters, for two of other alphabets, and for each character that is a word by itself.
func Tokens[T string | []byte](texts ...T) int {
	quarters := 0
	for _, t := range texts {
		for i := 0; i < len(t); {
			if t[i] < utf8.RuneSelf {
				quarters++
				i++
				continue
			}
			r, size := utf8.DecodeRuneInString(string(t[i:min(len(t), i+utf8.UTFMax)])) // so short a string takes no memory
			i += size
			if r < 0x2E80 || unicode.IsMark(r) {
				quarters += 2
			} else {
				quarters += charsIn
			}
		}
	}
	return (quarters + charsIn - 1) / charsIn
}

// CutTokens returns text, or its beginning within limit tokens, with a mark.
func CutTokens(text string, limit int) string {
	if len(text)/charsIn <= limit && Tokens(text) <= limit {
		return text
	}
	quarters := charsIn * (limit - Tokens(CutMark))
	for i, r := range text {
		quarters -= charsIn
		if r < 0x80 {
			quarters += charsIn - 1
		} else if r < 0x2E80 {
			quarters += charsIn / 2
		}
		if quarters < 0 {
			return text[:i] + CutMark
		}
	}
	return text
}
