// Package searchtest has facts and questions by which searches are measured.
package searchtest

import (
	"fmt"
	"strings"
)

// Question is a question, and which of [Facts] answers it.
type Question struct {
	Text  string // has words of the fact
	Other string // asks the same; apart from the name it has no telling word of the fact
	Fact  int
}

// facts are what people are said to be like, with two questions each. %s is who.
var facts = []struct{ fact, question, other string }{
	{"The birthday of %s is on the third of May, and we always bake something", "When is the birthday of %s?", "On which date was %s born?"},
	{"Yesterday %s bought a green car, second hand", "What car did %s buy?", "Which vehicle does %s drive?"},
	{"%s has a dog, an old one that is called Rufus", "What is the dog of %s called?", "Which pet lives with %s?"},
	{"Careful with the cake: %s is allergic to hazelnuts", "Is %s allergic to anything?", "Which food makes %s ill?"},
	{"%s moved to a flat in Basel, right at the river", "Where is the flat of %s?", "In which city does %s live?"},
	{"%s is a nurse now, at the hospital, mostly at night", "At which hospital is %s a nurse?", "What job does %s work in?"},
	{"I think the favourite colour of %s is purple", "Which favourite colour does %s have?", "What hue does %s love most?"},
	{"%s plays the cello in a band on Thursdays", "Which instrument does %s play in the band?", "What kind of music does %s make?"},
	{"The new phone number of %s ends with 4711", "With which digits does the phone number of %s end?", "How can %s be reached?"},
	{"Next year %s wants to travel to Iceland by ship", "To which country will %s travel?", "Where does %s spend the holidays?"},
}

func names() []string {
	return strings.Fields("Anna Bela Carlos Dörte Emre Fatima Gustav Hanna Igor Jana Kofi Lucía Marek Nadia Otto Priya Quentin Rosa Sven Tomoko")
}

// Facts returns 200 facts.
func Facts() (all []string) {
	for _, name := range names() {
		for _, f := range facts {
			all = append(all, fmt.Sprintf(f.fact, name))
		}
	}
	return all
}

// SmallTalk returns 200 sentences about the same people.
func SmallTalk() (all []string) {
	for i := range 200 {
		all = append(all, fmt.Sprintf("%s said hello, the weather was fine, nothing else on day %d", names()[i%len(names())], i))
	}
	return all
}

// Questions returns 100 questions about Facts, five about each person.
func Questions() (all []Question) {
	for q := range 100 {
		n, i := q/5, (q*3+q/10)%len(facts)
		name := strings.ToLower(names()[n])
		all = append(all, Question{fmt.Sprintf(facts[i].question, name), fmt.Sprintf(facts[i].other, name), n*len(facts) + i})
	}
	return all
}
