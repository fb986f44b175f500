package prompt_test

import (
	"errors"
	"strings"
	"testing"

	"parley/core/prompt"
	"parley/internal/require"
)

var vars = prompt.Vars{
	"name": nil, "empty": nil, "spaces": nil, "else_where": nil,
	"people": {"this", "name", "note"}, "guests": {"this"},
}

var values = prompt.Values{
	Texts: map[string]string{"name": `Ann <b> & {{name}}`, "spaces": " \n"},
	Lists: map[string][]prompt.Item{"people": {{"this": "one", "name": "Bo", "note": "tall"}, {"this": "two", "name": "Cy"}}},
}

func TestExecute(t *testing.T) {
	for in, want := range map[string]string{
		"":                      "",
		"plain } } { {x}":       "plain } } { {x}",
		"a {{name}} b":          "a Ann <b> & {{name}} b",
		"{{{ name }}}{{empty}}": "Ann <b> & {{name}}",
		`\{{name}} {{name}}`:    "{{name}} Ann <b> & {{name}}",
		"{{! a comment }}x{{!-- with }} in it --}}y":                            "xy",
		"{{#if name}}yes{{else}}no{{/if}}":                                      "yes",
		"{{#if empty}}yes{{else}}no{{/if}}":                                     "no",
		"{{#if spaces}}yes{{/if}}":                                              "",
		"{{#if people}}some{{/if}}{{#if guests}}any{{/if}}":                     "some",
		"{{#each people}}{{this}}:{{name}} {{/each}}":                           "one:Bo two:Cy ",
		"{{#each people}}{{this.name}},{{/each}}{{else_where}}":                 "Bo,Cy,",
		"{{#each people}}{{#if note}}{{note}}{{else}}-{{/if}}{{/each}}":         "tall-",
		"{{#each guests}}x{{else}}none, {{#if name}}but{{/if}}{{/each}}":        "none, but",
		"{{#each people}}{{#if this.note}}!{{/if}}{{/each}}":                    "!",
		"a\n{{#if name}}\nb\n  {{else}}  \nc\n{{/if}}\nd":                       "a\nb\nd",
		"a\n{{#if empty}}\nb\n{{/if}}":                                          "a\n",
		"{{#each people}}\n- {{name}}\n{{/each}}\nend":                          "- Bo\n- Cy\nend",
		"a {{#if name}}\nb{{/if}}\n{{! alone }}\nc\r\n{{#if name}}\r\nd{{/if}}": "a \nb\nc\r\nd",
	} {
		tpl, err := prompt.ParseTemplate(in, vars)
		if err != nil {
			t.Errorf("%q: %v", in, err)
		} else if got := tpl.Execute(values); got != want {
			t.Errorf("%q is\n%q; want\n%q", in, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	for in, want := range map[string]string{
		"a\nbü {{nmae}}":                      `line 2, column 4: there is no variable "nmae"; there are else_where, empty`,
		"{{name":                              "line 1, column 1: {{ is not closed",
		"{{{name}}":                           "line 1, column 1: {{{ is not closed",
		"{{#if name}}x":                       "line 1, column 1: {{#if name}} has no end; add {{/if}}",
		"{{#if name}}\n{{/each}}":             "line 2, column 1: found {{/each}} where {{/if}} is expected",
		"{{#if name}}{{else}}{{else}}{{/if}}": "found {{else}} where {{/if}} is expected",
		"x{{/if}}":                            "line 1, column 2: {{/if}} has no matching opening block",
		"{{else}}":                            "{{else}} has no matching opening block",
		"{{#unless name}}{{/unless}}":         "#unless is not known",
		"{{#if name empty}}{{/if}}":           "is not understood",
		"{{#if}}{{/if}}":                      "is not understood",
		"{{else if name}}":                    "is not understood",
		"{{}}":                                "is not understood",
		"{{a.b}}":                             "is not understood",
		"{{people}}":                          "people is a list",
		"{{this}}":                            `no variable "this"`,
		"{{#each name}}{{/each}}":             `there is no list "name"; there are guests, people`,
		"{{#each people}}{{#each guests}}{{/each}}{{/each}}":               "a list can't be nested in another list",
		strings.Repeat("{{#if name}}", 17) + strings.Repeat("{{/if}}", 17): "nested more than 16 deep",
		strings.Repeat("x", 64<<10+1):                                      "longer than 65536 bytes",
		"{{#each people}}x{{else}}{{this}}{{/each}}":                       `no variable "this"`,
	} {
		_, err := prompt.ParseTemplate(in, vars)
		var e *prompt.SyntaxError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v; want %q", in, err, want)
		}
	}
}

func TestUses(t *testing.T) {
	tpl := require.Value(prompt.ParseTemplate("{{name}}{{#if empty}}{{/if}}{{#each people}}{{note}}{{/each}}", vars))(t)
	for name, want := range map[string]bool{"name": true, "empty": true, "people": true, "note": false, "spaces": false} {
		if tpl.Uses(name) != want {
			t.Errorf("it uses %s: %v", name, !want)
		}
	}
}

// FuzzParse: whatever is written, Parse returns, an error has a place in the text, and what is filled in stays as it is.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"{{name}}", "a\n{{#if name}}\n{{else}}{{/if}}", "{{#each people}}{{this}}{{/each}}", `\{{`, "{{{name}}}", "{{!--", "{{! }}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tpl, err := prompt.ParseTemplate(text, vars)
		var e *prompt.SyntaxError
		switch {
		case errors.As(err, &e):
			lines := strings.Split(text, "\n")
			if e.Line < 1 || e.Line > len(lines) || e.Column < 1 || e.Column > len([]rune(lines[e.Line-1]))+1 {
				t.Errorf("%q: %v is no place in it", text, e)
			}
		case err != nil:
			t.Errorf("%q: %T", text, err)
		case !strings.Contains(text, "{{"):
			if got := tpl.Execute(values); got != text {
				t.Errorf("%q became %q", text, got)
			}
		default:
			if marked := (prompt.Values{Texts: map[string]string{"name": "\x01"}}); strings.Count(tpl.Execute(marked), "\x01") > strings.Count(text, "name")+strings.Count(text, "\x01") {
				t.Errorf("%q repeats a value", text)
			}
		}
	})
}
