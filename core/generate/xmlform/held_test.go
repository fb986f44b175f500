package xmlform

import "testing"

// A text is held if the actions before it say so, wherever the answer is cut. What was written before the actions is not.
func TestHeldText(t *testing.T) {
	opt := Options{Tags: true, Holds: func(calls []Call) bool { return calls[0].Name != "REPLY" }}
	for name, c := range map[string]struct{ answer, said, held string }{
		"reply first":     {"<response><actions>REPLY,A</actions><text>Hi</text></response>", "Hi", ""},
		"action first":    {"<response><actions>A,REPLY</actions><text>\nHi\n</text></response>", "", "Hi"},
		"two texts":       {"<response><actions>A,REPLY</actions><text>Hi</text><text>there</text></response>", "", "Hi\n\nthere"},
		"text first":      {"<response><text>Hi</text><actions>A,REPLY</actions></response>", "Hi", ""},
		"between":         {"<response><text>Hi</text><actions>A,REPLY</actions><text>there</text></response>", "Hi\n\nthere", ""},
		"never ended":     {"<response><actions>A,REPLY</actions><text>Hi <b", "", "Hi <b"},
		"without a text":  {"<response><actions>A,REPLY</actions></response>", "", ""},
		"with parameters": {`<response><actions>A,REPLY</actions><params>{"A":{"x":1}}</params><text>Hi</text></response>`, "", "Hi"},
	} {
		t.Run(name, func(t *testing.T) {
			if said, r := everyCut(t, opt, c.answer); said != c.said || r.Held != c.held {
				t.Errorf("%q, held %q; want %q and %q", said, r.Held, c.said, c.held)
			}
		})
	}
}
