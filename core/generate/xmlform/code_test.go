package xmlform

import "testing"

// Each X is marked as code (c) or text (t), as Markdown has it.
func TestCode(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"within a line":                        {"X `X` X", "tct"},
		"two backticks":                        {"`` X ` X `` X", "cct"},
		"a lonely backtick":                    {"` X\nX", "ct"},
		"a block":                              {"X\n```go\nX\n```\nX", "tct"},
		"a longer fence":                       {"````\n```\nX\n````\nX", "ct"},
		"tildes":                               {"~~~\nX\n```\nX\n~~~\nX", "cct"},
		"tildes within a line":                 {"a ~~~ X\nX", "tt"},
		"backticks within a block":             {"```\n`X` X\n```\nX", "cct"},
		"three backticks within a line":        {"a ```X``` X\nX", "ctt"},
		"no fence, its line holds a backtick":  {"``` js` X\nX", "ct"},
		"no fence, closed in its line":         {"``` X ``` X\nX", "ctt"},
		"tildes, their line holds a backtick":  {"~~~ a`b X\nX\n~~~\nX", "cct"},
		"a fence within a line does not close": {"```\nX\na ```\nX\n```\nX", "cct"},
	} {
		t.Run(name, func(t *testing.T) {
			var k code
			got := ""
			for i := range len(c.text) {
				if c.text[i] == 'X' {
					got += map[bool]string{true: "c", false: "t"}[k.in()]
				}
				k.feed(c.text[i])
			}
			if got != c.want {
				t.Errorf("%q is %s, want %s", c.text, got, c.want)
			}
		})
	}
}
