package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	shortestStem = 3 // letters that stay of a word
	longestStem  = 7 // letters that count: beyond them, words of languages with many endings differ
)

// stem returns the part of a folded word that its forms have in common: "key" for keys, "katz" for Katze and Katzen. It
// removes the usual endings of all languages of a script, because the language of a word is not known, so a stem is not always
// that of a grammar. That does not matter: both the text and the question are stemmed, and different words with the same stem
// are rare. Words with digits, such as names of models, stay as they are.
func stem(word []rune) string {
	script := scriptOf(word[0])
	if script == nil || slices.ContainsFunc(word, unicode.IsDigit) {
		return string(withoutMarks(word))
	}
	s := string(word)
	for _, p := range script.prefixes {
		if rest := strings.TrimPrefix(s, p); rest != s && utf8.RuneCountInString(rest) >= shortestStem {
			s = rest
			break
		}
	}
	for {
		shorter := script.withoutEnding(s)
		if shorter == s {
			break
		}
		s = shorter
	}
	runes := []rune(s)
	if n := len(runes); n > shortestStem && runes[n-1] == runes[n-2] {
		runes = runes[:n-1] // running, run
	}
	return string(runes[:min(len(runes), longestStem)])
}

// withoutMarks removes vowel signs from the end of a word, which are endings in the scripts of India.
func withoutMarks(word []rune) []rune {
	for len(word) > shortestStem-1 && unicode.IsMark(word[len(word)-1]) {
		word = word[:len(word)-1]
	}
	return word
}

// withoutEnding removes the longest ending that leaves enough of the word, with a vowel if the script writes them.
func (s *script) withoutEnding(word string) string {
	last, _ := utf8.DecodeLastRuneInString(word)
	for _, e := range s.byLast[last] {
		rest, ok := strings.CutSuffix(word, e)
		if !ok || utf8.RuneCountInString(rest) < shortestStem || s.vowels != "" && !strings.ContainsAny(rest, s.vowels) {
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(rest)
		if !strings.ContainsRune(s.kept[e], before) {
			return rest
		}
	}
	return word
}

// script has the endings of the languages that are written in it.
type script struct {
	table    *unicode.RangeTable
	vowels   string            // a stem has one of them
	prefixes []string          // articles and the like, which are written together with the word
	endings  string            // separated by blanks
	kept     map[string]string // an ending is none after one of these letters

	byLast map[rune][]string // the endings by their last letter, the longest first
}

// scripts are never changed. Their letters are those that folded leaves.
var scripts = withEndings(
	&script{
		table:  unicode.Latin,
		vowels: "aeiouyæøœ",
		endings: `s es ies ing ings ed e a o i u y ie
			en em er ern ens n
			as os is oes ao ais ami ach ow owi om ego emu ych ymi ym im ie iem
			ar or arna orna erna
			lar ler lari leri larin lerin larim lerim in un im um
			ok ek ak`,
		kept: map[string]string{
			"s": "su", "ed": "e", "y": "aeou", "n": "aiouybcdfghjklmnpqrstvwxz",
			"i": "aeou", "u": "aeo", "in": "a", "um": "aei", "ow": "l", "er": "e", "ek": "e", "ok": "o",
		},
	},
	&script{
		table:  unicode.Cyrillic,
		vowels: "аеиоуыэюяіє",
		endings: `а я о е ы и у ю ь і ой ои еи ии ыи ая яя ое ее ые ие ого его ому ему ым им ых их ую юю ою ею ом ем ам ям ах ях ами ями
			ов ев ови еві ів иа ие иям иями иях ть ит ет ут ют ат ят ся ться тся ил ила или ал ала али ать ить`,
	},
	&script{
		table:   unicode.Greek,
		vowels:  "αεηιουω",
		endings: `α ασ εσ η ησ ο οσ ου ον οι ουσ ων ω ι ια ιου ιων ιασ ιεσ`,
	},
	&script{
		table:    unicode.Arabic,
		prefixes: []string{"وال", "بال", "كال", "فال", "لل", "ال", "و"},
		endings:  `ات ون ين ان ها هم كم نا ه ي ك`,
	},
	&script{
		table:    unicode.Hebrew,
		prefixes: []string{"ה", "ו", "ב", "ל", "מ", "ש", "כ"},
		endings:  `ים ות י ו ה ך`,
	},
	&script{
		table:   unicode.Devanagari,
		endings: `ियाँ ियों ियां ाएँ ाओं े ा ी ि ो ों ें ँ ं ू ु ओं एँ`,
	},
)

// withEndings sorts the endings of each script.
func withEndings(all ...*script) []*script {
	for _, s := range all {
		s.byLast = map[rune][]string{}
		for _, e := range strings.Fields(s.endings) {
			last, _ := utf8.DecodeLastRuneInString(e)
			s.byLast[last] = append(s.byLast[last], e)
		}
		for _, of := range s.byLast {
			slices.SortStableFunc(of, func(a, b string) int { return len(b) - len(a) })
		}
	}
	return all
}

// scriptOf returns the script of a letter, nil if its endings are not known.
func scriptOf(letter rune) *script {
	for _, s := range scripts {
		if unicode.Is(s.table, letter) {
			return s
		}
	}
	return nil
}
