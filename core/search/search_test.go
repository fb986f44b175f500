package search

import (
	"slices"
	"strings"
	"testing"
)

func TestWordsOfManyLanguages(t *testing.T) {
	for text, want := range map[string]string{
		"Ada's Café, 42 Straße":          "ada s cafe 42 straße",
		"Cafe\u0301 ĐÀ NẴNG":             "cafe da nang",
		"Ёлка, мой":                      "елка мои",
		"东京塔":                            "东京 京塔",
		"猫":                              "猫",
		"हिन्दी भाषा":                    "हिन्दी भाषा",
		"كِتَاب أحمد":                    "كتاب احمد",
		"'; DROP TABLE x; -- \" * NEAR(": "drop table x near",
		"\u0301 \u200b":                  "",
	} {
		if got := strings.Join(Words(text), " "); got != want {
			t.Errorf("Words(%q) = %q; want %q", text, got, want)
		}
	}
}

func TestQuestionWithoutStopWords(t *testing.T) {
	for text, want := range map[string]string{
		"What is my cat's name, the cat?": "cat s name",
		"Who is who?":                     "who is",
		"Wie heißt meine Katze?":          "heißt katze",
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

func TestFusion(t *testing.T) {
	if got := Fuse([]string{"a", "b", "c"}, []string{"c", "d"}); !slices.Equal(got, []string{"c", "a", "b", "d"}) {
		t.Errorf("fused: %v", got)
	}
}
