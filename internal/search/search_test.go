package search

import (
	"slices"
	"strings"
	"testing"
)

func TestWordsOfManyLanguages(t *testing.T) {
	for text, want := range map[string]string{
		"Ada's Café, 42 Straße":          "ada s caf 42 straß",
		"Cafe\u0301 ĐÀ NẴNG":             "caf da nang",
		"Ёлка, мой":                      "елк мои",
		"东京塔":                            "东京 京塔 东 京 塔",
		"猫":                              "猫",
		"हिन्दी भाषा":                    "हिन्द भाष",
		"كِتَاب أحمد":                    "كتاب احمد",
		"'; DROP TABLE x; -- \" * NEAR(": "drop tabl x near",
		"\u0301 \u200b":                  "",
	} {
		if got := strings.Join(Words(text), " "); got != want {
			t.Errorf("Words(%q) = %q; want %q", text, got, want)
		}
	}
}

// Forms of one word have one stem, and the stems of different words are different.
func TestStems(t *testing.T) {
	seen := map[string]string{}
	for _, forms := range []string{
		"key keys", "city cities", "box boxes", "walk walks walked walking", "run running runs", "address addresses", "birthday birthdays",
		"speed speeds", "house houses", "need needs", "spring springs", "meeting meetings meet", "glass glasses", "planet planets", "plan plans",
		"banana bananas", "window windows", "market markets", "mark marks", "car cars", "Bahn Bahnen", "Katze Katzen",
		"Hund Hunde Hunden", "Kind Kinder Kindern", "Haus Hauses Häuser Häusern", "Lampe Lampen", "fiets fietsen", "llave llaves",
		"ciudad ciudades", "jardín jardines", "gatto gatti gatta", "chien chiens", "voiture voitures", "klucz klucze kluczy kluczami kluczach", "rower rowery rowerem",
		"flickor flickorna", "anahtar anahtarlar anahtarı", "ключ ключи ключа ключами", "собака собаки собаку собакой", "книга книги книг книгами", "машина машини машину",
		"κλειδί κλειδιά", "مفتاح المفتاح مفتاحي", "चाबी चाबियाँ", "4711", "gpt-4o",
	} {
		words := Words(forms)
		for _, w := range words {
			if w != words[0] && forms != "gpt-4o" {
				t.Errorf("the stems of %q are %q", forms, words)
				break
			}
		}
		if other := seen[words[0]]; other != "" {
			t.Errorf("%q and %q have the same stem, %q; want none", forms, other, words[0])
		}
		seen[words[0]] = forms
	}
}

func TestQuestionWithoutStopWords(t *testing.T) {
	for text, want := range map[string]string{
		"What is my cat's name, the cat?": "cat s nam",
		"Who is who?":                     "who is",
		"Wie heißt meine Katze?":          "heißt katz",
		"":                                "",
	} {
		if got := strings.Join(Question(text), " "); got != want {
			t.Errorf("Question(%q) = %q; want %q", text, got, want)
		}
	}
	long := strings.Builder{}
	for r := 'a'; r <= 'z'; r++ {
		long.WriteString("x" + string(r) + " ")
		long.WriteString("y" + string(r) + " ")
	}
	if n := len(Question(long.String())); n != maxWords {
		t.Errorf("a question of 52 words has %d; want %d", n, maxWords)
	}
}

func TestRareWordsRankFirst(t *testing.T) {
	texts := []Text{
		{1, Words("my dog likes the park")}, {2, Words("the cat likes fish")}, {3, Words("a dog and a park")}, {4, Words("nothing of it")},
	}
	var got []int64
	for _, s := range Rank(texts, []string{"dog", "fish"}) {
		got = append(got, s.ID)
	}
	if !slices.Equal(got, []int64{2, 3, 1}) {
		t.Errorf("the order is %v", got)
	}
	if once, twice := Rank(texts, []string{"dog", "fish"}), Rank(texts, []string{"dog", "dog", "fish"}); !slices.Equal(once, twice) {
		t.Errorf("a repeated word ranks %v, and once %v", twice, once)
	}
	if got := Rank(nil, []string{"dog"}); got != nil {
		t.Errorf("nothing ranks as %v", got)
	}
}

// Of many texts only the promising ones are compared; the scores are those among all, but for the average length.
func TestSomeTextsRankAsAmongAll(t *testing.T) {
	var texts, some []Text
	var postings [3][]int64
	question := []string{"common", "rare", "never"}
	for id := range int64(1000) {
		words := []string{"common", "words"}
		if id%100 == 7 {
			words[1] = "rare"
			postings[1] = append(postings[1], id)
		}
		texts, postings[0] = append(texts, Text{id, words}), append(postings[0], id)
	}
	ids, spread := Promising(postings[:], 20)
	if len(ids) != 20 || ids[0] != 907 || ids[9] != 7 || ids[10] != 999 {
		t.Fatalf("promising: %v", ids)
	}
	if spread.Texts != 1000 || !slices.Equal(spread.With, []int{1000, 10, 0}) {
		t.Errorf("the spread is %v", spread)
	}
	for _, id := range ids {
		some = append(some, texts[id])
	}
	all := Rank(texts, question)
	if got := RankSome(some, question, spread); !slices.Equal(got, all[:20]) {
		t.Errorf("among all %v, some as %v", all[:20], got)
	}
}

func TestFusion(t *testing.T) {
	if got := Fuse([]string{"a", "b", "c"}, []string{"c", "d"}); !slices.Equal(got, []string{"c", "a", "b", "d"}) {
		t.Errorf("fused: %v", got)
	}
}
