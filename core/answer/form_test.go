package answer_test

import (
	"cmp"
	"strings"
	"testing"

	"parley/core/answer"
	"parley/internal/lang"
)

func TestFill(t *testing.T) {
	number := func(n float64) *float64 { return &n }
	for name, c := range map[string]struct {
		field   answer.Field
		in      string
		want    string
		refused bool
	}{
		"a text":                      {answer.Field{Kind: answer.TextField}, " tea ", "tea", false},
		"a text of several lines":     {answer.Field{Kind: answer.TextField}, answer.JoinValues("one\ntwo"), "one\ntwo", false},
		"no text":                     {answer.Field{Kind: answer.TextField}, "", "", true},
		"an optional text, left out":  {answer.Field{Kind: answer.TextField, Optional: true}, answer.JoinValues(""), "", false},
		"a short text":                {answer.Field{Kind: answer.TextField, Min: number(3)}, "ab", "", true},
		"a long text":                 {answer.Field{Kind: answer.TextField, Max: number(3)}, "abcd", "", true},
		"a text in another form":      {answer.Field{Kind: answer.TextField, Pattern: `^\d+$`}, "x1", "", true},
		"a number":                    {answer.Field{Kind: answer.NumberField}, "1,50", "1.5", false},
		"no number":                   {answer.Field{Kind: answer.NumberField}, "NaN", "", true},
		"a number out of range":       {answer.Field{Kind: answer.NumberField, Max: number(3)}, "3.5", "", true},
		"an integer with a fraction":  {answer.Field{Kind: answer.IntegerField}, "1.5", "", true},
		"a huge integer":              {answer.Field{Kind: answer.IntegerField}, "1e300", "", true},
		"a date":                      {answer.Field{Kind: answer.DateField}, "24.12.2026", "2026-12-24", false},
		"a day that does not exist":   {answer.Field{Kind: answer.DateField}, "2026-02-30", "", true},
		"an option":                   {answer.Field{Kind: answer.ChoiceField, Options: []string{"Small", "Large"}}, "large", "Large", false},
		"an option by its number":     {answer.Field{Kind: answer.ChoiceField, Options: []string{"Small", "Large"}}, "2", "Large", false},
		"no option":                   {answer.Field{Kind: answer.ChoiceField, Options: []string{"Small", "Large"}}, "3", "", true},
		"several options, one twice":  {answer.Field{Kind: answer.ChoicesField, Options: []string{"A", "B", "C"}}, "3, a, 3", "C, A", false},
		"too many options of several": {answer.Field{Kind: answer.ChoicesField, Options: []string{"A", "B", "C"}, Max: number(1)}, "1, 2", "", true},
	} {
		c.field.Name, c.field.Title = "f", "Field"
		filled, problem, _ := answer.Fill(lang.Voice{}, []answer.Field{c.field, {Name: "next", Title: "Next", Kind: answer.TextField}}, c.in, nil)
		if (problem != "") != c.refused || filled[0].Value != c.want || filled[0].Done == c.refused || filled[1].Done {
			t.Errorf("%s: %+v, %q; want %q, refused %v", name, filled, problem, c.want, c.refused)
		}
	}
}

// Users write numbers and dates as in their language, and with its digits. A number whose meaning is not clear is asked for again.
func TestValuesOfLanguages(t *testing.T) {
	for _, c := range []struct {
		tag      string
		kind     answer.FieldKind
		in, want string
	}{
		{"de", answer.NumberField, "1.000,50", "1000.5"},
		{"de", answer.NumberField, "1,5", "1.5"},
		{"de", answer.NumberField, "1,500", "1.5"},
		{"de", answer.NumberField, "-1.000.000", "-1000000"},
		{"en", answer.NumberField, "1,500", "1500"},
		{"en", answer.NumberField, "1,000.50", "1000.5"},
		{"fr", answer.NumberField, "1\u202f000,5", "1000.5"},
		{"en", answer.NumberField, "1,000,50", ""},
		{"de", answer.NumberField, "1.000,500", ""},
		{"en", answer.NumberField, "1,2,3", ""},
		{"de", answer.NumberField, "1.12.2026", ""},
		{"de", answer.IntegerField, "1.500", "1500"},
		{"en", answer.IntegerField, "1,500", "1500"},
		{"en", answer.IntegerField, "1'500", "1500"},
		{"de", answer.IntegerField, "3,5", ""},
		{"ar", answer.IntegerField, "٣", "3"},
		{"ar", answer.NumberField, "١٬٥٠٠٫٥", "1500.5"},
		{"zh", answer.IntegerField, "１２", "12"},
		{"ar", answer.DateField, "٢٤/١٢/٢٠٢٦", "2026-12-24"},
		{"fr", answer.DateField, "24/12/2026", "2026-12-24"},
		{"en", answer.DateField, "3/4/2026", ""}, // March or April
		{"ja", answer.DateField, "2026年1月2日", "2026-01-02"},
		{"de", answer.DateField, "31.2.2026", ""},
	} {
		f := answer.Field{Name: "f", Title: "Field", Kind: c.kind}
		filled, problem, _ := answer.Fill(lang.In(c.tag), []answer.Field{f}, c.in, nil)
		if got := filled[0].Value; got != c.want || (problem == "") != (c.want != "") {
			t.Errorf("%s in %s: %q, %q; want %q", c.in, c.tag, got, problem, c.want)
		}
	}
}

// Of a field for files, the line is passed on with the field, and the result is its value or its problem.
// A number with one mark before three digits is read as its language writes it. Where users write both, it is asked for again.
func TestNumbersWithOneMark(t *testing.T) {
	const both = ""                                   // it is asked for again
	for language, want := range map[string][2]string{ // of 1.500 and 1,500
		"en": {"1.5", "1500"}, "ja": {"1.5", "1500"}, "zh": {"1.5", "1500"}, "de": {"1500", "1.5"}, "pt": {"1500", "1.5"},
		"fr": {both, "1.5"}, "es": {both, both}, "ar": {both, both},
	} {
		v := lang.In(language)
		for value, want := range map[string]string{
			"1.500": want[0], "1,500": want[1],
			"1.5": "1.5", "1,5": "1.5", "1.50": "1.5", "0.500": "0.5", "0,500": "0.5", "1.5000": "1.5", "1 500": "1500", "1'500": "1500", "1’500": "1500", "1\u202f500": "1500",
			"1.500,25": "1500.25", "1,500.25": "1500.25", "12.345.678": "12345678", "12,345,678": "12345678", "-12.345.678": "-12345678", "12.345.67": both, "1.500.25": both, "1500": "1500", "١٫٥٠٠": "1.5", "١٬٥٠٠": "1500", "１，５": "1.5",
		} {
			filled, problem, _ := answer.Fill(v, []answer.Field{{Name: "n", Title: "Number", Kind: answer.NumberField}}, value, nil)
			if filled[0].Value != want || (problem == "") == (want == both) {
				t.Errorf("%s in %s: %q, %q; want %q", value, language, filled[0].Value, problem, want)
			}
			asks := strings.Contains(problem, "1500") && strings.Contains(problem, "1.5")
			if single := value == "1.500" || value == "1,500"; single && asks != (want == both) {
				t.Errorf("%s in %s: the user reads %q", value, language, problem)
			}
		}
	}
}

func TestFillFiles(t *testing.T) {
	all := []answer.Field{{Name: "a", Title: "A", Kind: answer.FileField}, {Name: "t", Title: "T", Kind: answer.TextField}, {Name: "b", Title: "B", Kind: answer.FileField}}
	var asked []string
	filled, problem, wrong := answer.Fill(lang.In("en"), all, answer.JoinValues(" x ", "tea", ""), func(f answer.Field, line string) (string, string) {
		asked = append(asked, f.Name+"="+line)
		if f.Name == "b" {
			return "", "none."
		}
		return "a.pdf", ""
	})
	if got := strings.Join(asked, " "); got != "a=x b=" || problem != "B: none." || len(wrong) != 1 || wrong["b"] != "none." {
		t.Errorf("asked for %q; %q, %q", got, problem, wrong)
	}
	if filled[0].Value != "a.pdf" || !filled[0].Done || !filled[1].Done || filled[2].Done || all[0].Done {
		t.Errorf("filled %+v", filled)
	}
}

func TestCheckOptions(t *testing.T) {
	for option, ok := range map[string]bool{
		"Tea": true, strings.Repeat("é", 80): true, strings.Repeat("é", 81): false, " ": false, "Tea, Milk": false, "Tea\nMilk": false, "Tea\u2028Milk": false,
	} {
		f := answer.Field{Name: "f", Title: "Drink", Kind: answer.ChoiceField, Options: []string{"Water", option}}
		if err := answer.CheckFields([]answer.Field{f}); (err == nil) != ok {
			t.Errorf("the option %q: %v; want it to be accepted: %v", option, err, ok)
		}
	}
}

func TestCheckFileFields(t *testing.T) {
	number := func(n float64) *float64 { return &n }
	many := make([]string, 26)
	for name, c := range map[string]struct {
		field answer.Field
		ok    bool
	}{
		"one file":            {answer.Field{}, true},
		"eight files":         {answer.Field{Max: number(8)}, true},
		"nine files":          {answer.Field{Max: number(9)}, false},
		"no file":             {answer.Field{Max: number(0)}, false},
		"types":               {answer.Field{Accept: many[:25]}, true},
		"too many types":      {answer.Field{Accept: many}, false},
		"a name of 80 bytes":  {answer.Field{Name: strings.Repeat("n", 80)}, true},
		"a name of 81 bytes":  {answer.Field{Name: strings.Repeat("n", 81)}, false},
		"without a title":     {answer.Field{Title: " "}, false},
		"an unknown kind":     {answer.Field{Kind: "picture"}, false},
		"more at least":       {answer.Field{Min: number(2)}, false},
		"at least two of two": {answer.Field{Min: number(2), Max: number(2)}, true},
	} {
		f := c.field
		f.Name, f.Title, f.Kind = cmp.Or(f.Name, "f"), cmp.Or(f.Title, "File"), cmp.Or(f.Kind, answer.FileField)
		if err := answer.CheckFields([]answer.Field{f}); (err == nil) != c.ok {
			t.Errorf("%s: %v; want it to be accepted: %v", name, err, c.ok)
		}
	}
}

// The reason why a text is too long does not say that an empty one would fit.
func TestLengthOfText(t *testing.T) {
	most := 3.0
	_, problem, _ := answer.Fill(lang.Voice{}, []answer.Field{{Name: "f", Title: "Field", Kind: answer.TextField, Max: &most}}, "abcd", nil)
	if want := "Field: it must have 1 to 3 characters."; problem != want {
		t.Errorf("%q; want %q", problem, want)
	}
}
