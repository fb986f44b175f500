package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// facts are what people of a conversation are said to be like, with a question each. %s is who.
var facts = []struct{ fact, question string }{
	{"The birthday of %s is on the third of May, and we always bake something", "When is the birthday of %s?"},
	{"Yesterday %s bought a green car, second hand", "What car did %s buy?"},
	{"%s has a dog, an old one that is called Rufus", "What is the dog of %s called?"},
	{"Careful with the cake: %s is allergic to hazelnuts", "Is %s allergic to anything?"},
	{"%s moved to a flat in Basel, right at the river", "Where is the flat of %s?"},
	{"%s is a nurse now, at the hospital, mostly at night", "At which hospital is %s a nurse?"},
	{"I think the favourite colour of %s is purple", "Which favourite colour does %s have?"},
	{"%s plays the cello in a band on Thursdays", "Which instrument does %s play in the band?"},
	{"The new phone number of %s ends with 4711", "With which digits does the phone number of %s end?"},
	{"Next year %s wants to travel to Iceland by ship", "To which country will %s travel?"},
}

var names = strings.Fields("Anna Bela Carlos Dörte Emre Fatima Gustav Hanna Igor Jana Kofi Lucía Marek Nadia Otto Priya Quentin Rosa Sven Tomoko")

// Of 200 facts among small talk, the one that a question is about is one of the first five of at least 95 of 100 questions.
func TestRecallByWords(t *testing.T) {
	const questions, wanted, first = 100, 95, 5
	var texts []Text
	for n, name := range names {
		for i, f := range facts {
			texts = append(texts, Text{ID: int64(n*len(facts) + i), Words: Words(fmt.Sprintf(f.fact, name))})
		}
	}
	for i := range 200 {
		texts = append(texts, Text{ID: int64(1000 + i), Words: Words(fmt.Sprintf("%s said hello, the weather was fine, nothing else on day %d", names[i%len(names)], i))})
	}
	hits := 0
	for q := range questions {
		n, i := q/5, (q*3+q/10)%len(facts)
		question := fmt.Sprintf(facts[i].question, strings.ToLower(names[n]))
		ranked := Rank(texts, Question(question))
		want := int64(n*len(facts) + i)
		if slices.ContainsFunc(ranked[:min(first, len(ranked))], func(s Scored) bool { return s.ID == want }) {
			hits++
		} else {
			t.Logf("missed: %s", question)
		}
	}
	t.Logf("recall@%d: %d of %d", first, hits, questions)
	if hits < wanted {
		t.Errorf("%d of %d questions find their fact; want at least %d", hits, questions, wanted)
	}
}
