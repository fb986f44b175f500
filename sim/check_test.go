package sim

import (
	"strings"
	"testing"
	"time"

	"parley/core/answer"
	"parley/core/chat"
)

// A checker that can't find anything proves nothing: each rule is shown what it is there for.
func TestCheckFinds(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	done := answer.Outcome{Status: answer.Completed}
	run := chat.Run{ID: "room#1", Room: "room", Inputs: []chat.MemoryID{"m1"}, Outcome: done}
	last := Sight{At: at(9), Reader: "a", Run: "room#1", Text: "Hi", Last: true}
	stored := func(text string) func(chat.MemoryID) (chat.Memory, bool) {
		return func(chat.MemoryID) (chat.Memory, bool) { return chat.Memory{Text: text}, true }
	}
	forgotten := func(chat.MemoryID) (chat.Memory, bool) { return chat.Memory{}, false }
	for name, c := range map[string]struct {
		e    Evidence
		want string // how each finding begins; empty for none
	}{
		"all is well": {Evidence{Accepted: []chat.MemoryID{"m1"}, Runs: []chat.Run{run}, Seen: []Sight{last}, Stored: stored("Hi")}, ""},
		"no run":      {Evidence{Accepted: []chat.MemoryID{"m1"}}, "I1"},
		"two runs":    {Evidence{Accepted: []chat.MemoryID{"m1"}, Runs: []chat.Run{run, run}, Seen: []Sight{last}}, "I1"},
		"no end":      {Evidence{Runs: []chat.Run{{ID: "room#1"}}}, "I2"},
		"an unseen end": {Evidence{Runs: []chat.Run{run},
			Seen: []Sight{{Reader: "a", Run: "room#1", Text: "H"}}}, "I2"},
		"two ends": {Evidence{Runs: []chat.Run{run}, Seen: []Sight{last,
			{At: at(9), Reader: "b", Run: "room#1", Text: "Ho", Last: true}}}, "I2"},
		"another text stored":                  {Evidence{Runs: []chat.Run{run}, Seen: []Sight{last}, Stored: stored("Ho")}, "I3"},
		"a deleted message that is remembered": {Evidence{Deleted: map[chat.MemoryID]chat.RunID{"m1": "room#1"}, Runs: []chat.Run{run}, Stored: stored("Hi")}, "I3"},
		"its answer stands": {Evidence{Accepted: []chat.MemoryID{"m1"}, Deleted: map[chat.MemoryID]chat.RunID{"m1": "room#1"},
			Runs: []chat.Run{{ID: "room#1", Outcome: done}}, Seen: []Sight{last}, Stored: forgotten}, "I3"},
		"both are gone": {Evidence{Accepted: []chat.MemoryID{"m1"}, Deleted: map[chat.MemoryID]chat.RunID{"m1": "room#1"},
			Runs: []chat.Run{{ID: "room#1", Outcome: answer.Outcome{Status: answer.Stopped, Withdrawn: true}}}, Stored: forgotten}, ""},
		"something after the end": {Evidence{Runs: []chat.Run{run}, Seen: []Sight{last,
			{At: at(10), Reader: "a", Run: "room#1", Text: "Hi!"}}}, "I4"},
		"two writers": {Evidence{Requests: []Request{
			{From: at(0), To: at(5), Message: "1"}, {From: at(4), To: at(6), Message: "1"}}}, "I4"},
		"two models at once": {Evidence{Work: []Work{
			{Room: "room", From: at(0), To: at(5)}, {Room: "room", From: at(4), To: at(6)}}}, "I5"},
		"one after the other": {Evidence{Work: []Work{
			{Room: "room", From: at(0), To: at(5)}, {Room: "other", From: at(4), To: at(6)}, {Room: "room", From: at(5), To: at(6)}}}, ""},
		"a hold that is not obeyed": {Evidence{Requests: []Request{
			{From: at(0), To: at(1), Scope: "c", Hold: 9 * time.Second}, {From: at(9), To: at(9), Scope: "c"}}}, "I6"},
		"another chat's hold": {Evidence{Requests: []Request{
			{From: at(0), To: at(1), Scope: "c", Hold: 9 * time.Second}, {From: at(2), To: at(3), Scope: "d"}}}, ""},
		"refused": {Evidence{Refused: []string{"sendMessage"}}, "I7"},
		"two creates at once": {Evidence{Requests: []Request{
			{From: at(0), To: at(5), Scope: "c", Create: true}, {From: at(4), To: at(6), Scope: "c", Create: true}}}, "I8"},
		"a secret":      {Evidence{Leaks: Leak("the log", "key=sk-0123456789", "sk-0123456789")}, "I9"},
		"half a secret": {Evidence{Leaks: Leak("the log", "…3456789abc…", "sk-0123456789abc")}, "I9"},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := c.e.Check()
			if (len(wrong) == 0) != (c.want == "") {
				t.Errorf("it finds %q", wrong)
			}
			for _, w := range wrong {
				if !strings.HasPrefix(w, c.want+":") {
					t.Errorf("it finds %q, not %s", w, c.want)
				}
			}
		})
	}
}
