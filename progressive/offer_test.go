package progressive_test

import (
	"fmt"
	"testing"
	"time"

	"parley/core/answer"
	"parley/progressive"
	"parley/progressive/progressivetest"
)

// Options stand below the last message as soon as there are some, with and without the next text, and go when they are taken away.
func TestOptionsComeAndGo(t *testing.T) {
	for name, sink := range map[string]func(*progressivetest.Chat) progressive.Sink{"nonces": filesNonced, "no nonces": files} {
		t.Run(name, func(t *testing.T) {
			withDelivery(t, sink, func(s *delivery) {
				offer := func(o *answer.Choices) { s.a.Apply(answer.Change{Kind: answer.ChoicesChanged, Choices: o}) }
				step := func(want string, do func()) {
					s.Helper()
					do()
					time.Sleep(10 * time.Second)
					last := map[string]string{} // what each message offers
					for _, r := range s.chat.Log(progressive.Post, progressive.Edit) {
						if last[r.ID] = ""; r.Part.Offer != nil {
							last[r.ID] = r.Part.Offer.ID
						}
					}
					n := len(s.chat.Shown())
					if got := last[fmt.Sprint("m", n)]; got != want || others(last, want) {
						s.Errorf("with %d messages people may choose from %v; want %q at the last", n, last, want)
					}
				}
				h := &heard{Gate: s.gate}
				s.gate = h
				s.show()
				step("", func() { s.status("Which one?") })
				step("a", func() { offer(&answer.Choices{ID: "a", Options: []string{"x"}}) })
				step("b", func() { offer(&answer.Choices{ID: "b", Options: []string{"x"}}) })
				step("b", func() { s.say(prose + " " + prose + " " + prose) })
				for _, ticket := range h.tickets[1:3] {
					if ticket.Priority != progressive.PriorityStatus {
						t.Errorf("options come as %v; want %v", ticket.Priority, progressive.PriorityStatus)
					}
				}
				step("", func() { offer(nil) })
				step("c", func() { offer(&answer.Choices{ID: "c"}) })
				edits := s.count(progressive.Edit)
				if err := s.end(answer.Outcome{Status: answer.Completed, Offer: &answer.Choices{ID: "c"}}); err != nil || s.count(progressive.Edit) != edits {
					t.Errorf("the end: %v, with %d edits more", err, s.count(progressive.Edit)-edits)
				}
			})
		})
	}
}

// others reports whether some message offers something else.
func others(offered map[string]string, want string) bool {
	for _, o := range offered {
		if o != "" && o != want {
			return true
		}
	}
	return false
}
