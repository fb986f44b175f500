package turn

import (
	"reflect"
	"testing"

	"parley/core/chat"
)

// The result of a choice takes over the messages of the notice, also those that were posted after it has taken over the others.
func TestResultTakesOverMessages(t *testing.T) {
	of := func(ids ...string) (all []chat.Shown) {
		for part, id := range ids {
			all = append(all, chat.Shown{Part: part, ID: id})
		}
		return all
	}
	for _, c := range []struct{ notice, result, want []chat.Shown }{
		{of(), of("r"), nil},
		{of("n"), of(), of("n")},
		{of(""), of(), of("")},
		{of("n"), of("r"), of("n", "r")},
		{of("n"), of("n", "r"), nil},
		{of("n", ""), of("n", "r"), nil},
		{of("n", "late"), of("n", "r"), of("n", "late", "r")},
		{of("n", "late"), of("n", ""), of("n", "late", "")},
	} {
		if got := joined(c.notice, c.result); !reflect.DeepEqual(got, c.want) {
			t.Errorf("of %v and %v: %v; want %v", c.notice, c.result, got, c.want)
		}
	}
}
