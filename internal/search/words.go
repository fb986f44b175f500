// Package search ranks texts by the words of a question: the words of a text in any language, stop words, and scores.
// It also has the arithmetic of vectors. It reads no store: the stores use it where their databases lack a function, so
// that all of them find the same.
//
// The words of stored texts are made by [Words] when they are indexed. A change of it changes the results among older
// texts, until they are indexed again.
package search

import (
	"iter"
	"slices"
	"strings"
	"unicode"
)

// maxWords is the maximum number of different words of a question that are searched for.
const maxWords = 24

// Words returns the search words of a text, in lower case, without diacritics and endings. For scripts without
// spaces, and for Korean, whose words have their particles attached, it returns each pair of characters, because where words
// end can't be seen without a dictionary; two pairs in common are nearly as good as a word. The single characters follow, for
// questions that have only one.
func Words(text string) (all []string) {
	for word := range words(text) {
		if !dense(word[0]) {
			all = append(all, stem(word))
			continue
		}
		all = append(all, pairs(word)...)
		for i := 0; len(word) > 1 && i < len(word); i++ {
			all = append(all, string(word[i]))
		}
	}
	return all
}

// Question returns the different words of a question that indicate its subject, as [Words] makes them: without stop
// words, unless it has no others, and at most maxWords of them, as each costs a search.
func Question(text string) []string {
	var all, telling []string
	for word := range words(text) {
		stop := stopWords[string(word)]
		of := pairs(word)
		if !dense(word[0]) {
			of = []string{stem(word)}
		}
		for _, w := range of {
			if !slices.Contains(all, w) {
				all = append(all, w)
			}
			if !stop && !slices.Contains(telling, w) {
				telling = append(telling, w)
			}
		}
	}
	if len(telling) > 0 {
		all = telling
	}
	return all[:min(len(all), maxWords)]
}

// words iterates over the words of a text as they stand there, in lower case and without diacritics.
func words(text string) iter.Seq[[]rune] {
	return func(yield func([]rune) bool) {
		for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
		}) {
			if runes := folded(w); len(runes) > 0 && !yield(runes) {
				return
			}
		}
	}
}

// pairs returns each two neighboring characters of a word, or its only one.
func pairs(word []rune) (all []string) {
	if len(word) == 1 {
		return []string{string(word)}
	}
	for i := range len(word) - 1 {
		all = append(all, string(word[i:i+2]))
	}
	return all
}

// dense reports whether r belongs to a script whose words can't be told apart by spaces and endings.
func dense(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// folded returns a word in lower case without diacritics, which many users leave out where they type. Vowel marks
// of scripts stay. A table is used instead of Unicode's decomposition, because some letters (ø, ł, đ)
// have none.
func folded(word string) []rune {
	all := make([]rune, 0, len(word))
	for _, r := range word {
		if r < 0x80 {
			all = append(all, r)
			continue
		}
		if plain, ok := plainLetters[r]; ok {
			all = append(all, plain)
			continue
		}
		if unicode.IsMark(r) && (len(all) == 0 || unicode.In(all[len(all)-1], unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Arabic, unicode.Hebrew)) {
			continue
		}
		all = append(all, r)
	}
	return all
}

// plainLetters and stopWords are never changed.
var plainLetters = letters()

// letters returns the letter without diacritics for each letter with some. Each group of its table begins with the
// plain letter.
func letters() map[rune]rune {
	all := map[rune]rune{}
	for _, line := range strings.Fields(`
		aàáâãäåāăąǎǟǡǻȁȃȧḁẚạảấầẩẫậắằẳẵặ cçćĉċčḉ dďđḋḍḏḑḓ eèéêëēĕėęěȅȇȩḕḗḙḛḝẹẻẽếềểễệ fḟ gĝğġģǧǵḡ hĥħȟḣḥḧḩḫẖ
		iìíîïĩīĭįıǐȉȋḭḯỉị jĵǰ kķǩḱḳḵ lĺļľŀłḷḹḻḽ mḿṁṃ nñńņňǹṅṇṉṋ oòóôõöøōŏőơǒǫǭǿȍȏȫȭȯȱṍṏṑṓọỏốồổỗộớờởỡợ pṕṗ
		rŕŗřȑȓṙṛṝṟ sśŝşšșṡṣṥṧṩſ tţťŧțṫṭṯṱẗ uùúûüũūŭůűųưǔǖǘǚǜȕȗṳṵṷṹṻụủứừửữự vṽṿ wŵẁẃẅẇẉẘ xẋẍ yýÿŷȳẏẙỳỵỷỹ zźżžẑẓẕ
		αάἀἁὰᾳ εέἐἑὲ ηήἠἡὴῃ ιίϊΐἰἱὶ οόὀὁὸ υύϋΰὐὑὺ ωώὠὡὼῳ σς еёѐ иѝй ії уў гґѓ кќ اأإآٱ وؤ يئى هة`) {
		runes := []rune(line)
		for _, r := range runes[1:] {
			all[r] = runes[0]
		}
	}
	return all
}

var stopWords = stops()

// stops returns words that most questions have, whatever they are about, in the most common languages.
func stops() map[string]bool {
	all := map[string]bool{}
	for word := range words(`
		a about again all also am an and any are as at be because been but by can could did do does for from get give had has have
		he her here him his how i if in into is it its just know let like may me might much my no not now of on one or our please
		remember said say she should so some tell than that the their them then there these they thing this those to told too up
		us was we were what when where which who whom whose why will with would yes you your
		aber als am an auch auf aus bei bin bis bist da das dass dein deine dem den der des die dir doch du ein eine einem einen
		einer er es fur hab habe haben hast hat hatte ich ihr ihre im in ist ja kann kannst man mein meine meinem meinen meiner
		mich mir mit nach nicht noch nur oder sein seine sich sie sind so und uns von war waren warum was weisst welche welcher
		welches wenn wer wie wir wird wo zu zum zur
		au aux avec ce ces cette comment dans de des du elle en est et etait il ils je la le les leur lui ma mais me mes moi mon
		nous ou par pas pour pourquoi qu quand que quel quelle qui sa se ses son sont sur ta te tes toi ton tu un une vos votre vous
		al como con cual cuando cuanto del donde el ella en era eres es esta este esto ha hay la las lo los mas me mi mis muy
		nos o para pero por porque que quien se ser si sin sobre son soy su sus te tengo ti tiene tu tus un una y ya yo
		che chi ci come con cosa da dal del della dei di dove e gli ho il io la le lui mia mio ne nel non per perche piu quale
		quando questo se sei si sono su suo tu tua tuo un una
		ao as com da das de do dos e ela ele em essa esse eu foi isso meu minha na nao nas no nos o os ou para pela pelo por qual
		quando que quem se seu sua tem um uma voce
		aan ben dat de een en er had heb heeft het hij hoe ik is je jij kan mijn naar niet of om op te uit van voor waar wat we
		welke wie zijn
		а бы в во вот вы где да для до его ее если есть еще же за и из или им их к как какой какая какие когда кто ли меня мне
		мой моя мои мы на не нет но о об он она они от по почему с со так там то только ты у что чем это я
		ve bir bu da de ile icin mi ne nasil o su ben sen var
		i w z na do jest nie to sie jak czy co moj moja ja ty on ona od po za dla
	`) {
		all[string(word)] = true
	}
	return all
}
