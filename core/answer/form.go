package answer

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"parley/internal/lang"
)

// A Field is one question of a form.
type Field struct {
	Name     string    `json:"name"` // identifies it in its form
	Title    string    `json:"title"`
	Kind     FieldKind `json:"kind"`
	Options  []string  `json:"options,omitempty"` // of Choice and Choices
	Accept   []string  `json:"accept,omitempty"`  // of File, the media types that fit, such as "application/pdf" and "image/*"; empty: all
	Optional bool      `json:"optional,omitempty"`
	Min      *float64  `json:"min,omitempty"`     // the least number, length in characters, or number of choices or files
	Max      *float64  `json:"max,omitempty"`     // likewise the greatest; of files 1 unless it is set
	Pattern  string    `json:"pattern,omitempty"` // of a text, a regular expression that it must match
	Value    string    `json:"value,omitempty"`   // the checked answer; several choices, and the names of files, are separated by commas
	Done     bool      `json:"done,omitempty"`    // it was answered, or left out if it is optional
}

// FieldKind is the kind of a field.
type FieldKind string

// The kinds of fields.
const (
	TextField    FieldKind = "text"
	NumberField  FieldKind = "number"
	IntegerField FieldKind = "integer"
	DateField    FieldKind = "date" // as 2006-01-02
	ChoiceField  FieldKind = "choice"
	ChoicesField FieldKind = "choices" // several options
	FileField    FieldKind = "file"
)

const (
	maxFields  = 20
	maxTitle   = 200  // characters of a title
	maxPattern = 500  // bytes
	maxValue   = 4000 // characters
	maxOptions = 25   // of a field
	maxOption  = 80   // characters
	maxFiles   = 8    // of a field, as of a message
	maxName    = 80   // bytes of the name of a field for files, which platforms get as a part of an id
)

// CheckFields fails if a form can't be asked: it has no fields or too many, or one of them is invalid.
func CheckFields(all []Field) error {
	if len(all) == 0 || len(all) > maxFields {
		return fmt.Errorf("a form with %d fields; it can have 1 to %d", len(all), maxFields)
	}
	names := map[string]bool{}
	for _, f := range all {
		_, err := regexp.Compile(f.Pattern)
		chooses := f.Kind == ChoiceField || f.Kind == ChoicesField
		least, most := f.Files()
		switch {
		case f.Name == "" || names[f.Name]:
			return errors.New("each field of a form needs a name of its own")
		case strings.TrimSpace(f.Title) == "" || utf8.RuneCountInString(f.Title) > maxTitle:
			return fmt.Errorf("the field %q needs a title of up to %d characters", f.Name, maxTitle)
		case !chooses && !slices.Contains([]FieldKind{TextField, NumberField, IntegerField, DateField, FileField}, f.Kind):
			return fmt.Errorf("the field %q has the unknown kind %q", f.Name, f.Kind)
		case f.Kind == FileField && (len(f.Name) > maxName || most < max(1, least) || most > maxFiles || len(f.Accept) > maxOptions):
			return fmt.Errorf("the field %q needs a shorter name, fewer types, or 1 to %d files", f.Name, maxFiles)
		case chooses && (len(f.Options) == 0 || len(f.Options) > maxOptions):
			return fmt.Errorf("the field %q needs 1 to %d options", f.Name, maxOptions)
		case err != nil || len(f.Pattern) > maxPattern:
			return fmt.Errorf("the pattern of the field %q is invalid or too long", f.Name)
		}
		for _, o := range f.Options {
			if strings.TrimSpace(o) == "" || utf8.RuneCountInString(o) > maxOption || strings.ContainsAny(o, ",\n\u2028") {
				return fmt.Errorf("an option of the field %q is empty, too long, or has a comma", f.Name)
			}
		}
		names[f.Name] = true
	}
	return nil
}

// NextField returns the index of the first field that is not answered, or -1.
func NextField(all []Field) int {
	return slices.IndexFunc(all, func(f Field) bool { return !f.Done })
}

// JoinValues returns the answers to several fields as one text: a line for each, in their order.
func JoinValues(values ...string) string {
	lines := make([]string, len(values))
	for i, v := range values {
		lines[i] = strings.ReplaceAll(strings.ReplaceAll(v, "\r\n", "\n"), "\n", "\u2028")
	}
	if all := strings.Join(lines, "\n"); all != "" {
		return all
	}
	return LeftOut
}

// LeftOut is the value of an optional field that a user leaves out.
const LeftOut = "-"

// Fill returns the fields with the values of a text of [JoinValues] for those that are not answered, the first first. There
// can be fewer values than fields. file returns the value of a field for files with this line. wrong has the reasons for the user, in the
// language v, why values do not fit, by the names of their fields, which stay open. problem is the first of these, with the title.
func Fill(v lang.Voice, all []Field, values string, file func(f Field, line string) (value, problem string)) (filled []Field, problem string, wrong map[string]string) {
	filled, wrong = slices.Clone(all), map[string]string{}
	for line := range strings.SplitSeq(values, "\n") {
		i := slices.IndexFunc(filled, func(f Field) bool { return !f.Done && wrong[f.Name] == "" })
		if i < 0 {
			break
		}
		f := &filled[i]
		check := f.check
		if f.Kind == FileField {
			check = func(_ lang.Voice, line string) (string, string) { return file(*f, strings.TrimSpace(line)) }
		}
		value, why := check(v, line)
		if why != "" {
			wrong[f.Name], problem = why, cmp.Or(problem, f.Title+": "+why)
			continue
		}
		f.Value, f.Done = value, true
	}
	return filled, problem, wrong
}

// check returns the value of a line in its stored form, or the reason for the user why it does not fit.
func (f Field) check(v lang.Voice, line string) (stored, problem string) {
	value := strings.TrimSpace(strings.ReplaceAll(line, "\u2028", "\n"))
	if value == "" || value == LeftOut {
		if f.Optional {
			return "", ""
		}
		return "", v.Say("form.required")
	}
	switch f.Kind {
	case ChoiceField, ChoicesField:
		return f.checkOptions(v, value)
	case NumberField, IntegerField:
		return f.checkNumber(v, value)
	case DateField:
		for _, layout := range []string{"2006-1-2", "2006/1/2", "2006年1月2日", "2.1.2006", "2/1/2006"} {
			if t, err := time.Parse(layout, latin.Replace(value)); err == nil && (layout != "2/1/2006" || v.Tag() != "en") { // the month can be first there
				return t.Format(time.DateOnly), ""
			}
		}
		return "", v.Say("form.date", "example", "2026-12-31")
	}
	n := utf8.RuneCountInString(value)
	if least, most := f.bounds(1, maxValue); float64(n) < least || float64(n) > most {
		return "", v.Say("form.length", "least", number(max(1, least)), "most", number(most))
	}
	if whole, err := regexp.Compile(f.Pattern); err != nil || !whole.MatchString(value) {
		return "", v.Say("form.pattern")
	}
	return value, ""
}

// latin replaces the digits of Arabic, Persian, and Chinese or Japanese keyboards, and marks between thousands.
var latin = strings.NewReplacer("٠", "0", "١", "1", "٢", "2", "٣", "3", "٤", "4", "٥", "5", "٦", "6", "٧", "7", "٨", "8", "٩", "9", "۰", "0", "۱", "1",
	"۲", "2", "۳", "3", "۴", "4", "۵", "5", "۶", "6", "۷", "7", "۸", "8", "۹", "9", "０", "0", "１", "1", "２", "2", "３", "3", "４", "4", "５", "5", "６", "6",
	"７", "7", "８", "8", "９", "9", "，", ",", "．", ".", "\u00a0", " ", "\u202f", " ", "’", "'", "٬", "'", "٫", ".")

// thousands matches a number with marks between the thousands, with or without decimals.
var thousands = regexp.MustCompile(`^([+-]?[1-9]\d{0,2})((?:[., ']\d{3})+)([.,]\d+)?$`)

// plain returns a number without the marks between its thousands. A single point or comma in a number that can have decimals is read as the language
// writes it; either is another number where users write both.
func (f Field) plain(v lang.Voice, value string) (plain, either string) {
	sure := strings.Contains(value, "٫") // it is before decimals only
	value = latin.Replace(value)
	m := thousands.FindStringSubmatch(value)
	if m == nil || sure && m[3] == "" || strings.Count(m[2], m[2][:1])*4 != len(m[2]) || strings.HasPrefix(m[3], m[2][:1]) {
		return value, ""
	}
	plain = m[1] + strings.ReplaceAll(m[2], m[2][:1], "") + m[3]
	if mark := m[2][:1]; strings.Contains(".,", mark) && len(m[2]+m[3]) == 4 && f.Kind == NumberField {
		switch decimals := decimalMarks[v.Tag()]; {
		case mark == decimals:
			return value, ""
		case decimals == "" || v.Tag() == "fr": // spaces are between thousands there
			return plain, value
		}
	}
	return plain, ""
}

// decimalMarks are the marks before decimals, by language. Others differ between countries.
var decimalMarks = map[string]string{"en": ".", "ja": ".", "zh": ".", "de": ",", "fr": ",", "pt": ","}

func parseNumber(plain string) (float64, error) {
	return strconv.ParseFloat(strings.Replace(plain, ",", ".", 1), 64)
}

func (f Field) checkNumber(v lang.Voice, value string) (stored, problem string) {
	plain, either := f.plain(v, value)
	n, err := parseNumber(plain)
	if other, _ := parseNumber(either); err == nil && either != "" {
		return "", v.Say("form.number_unclear", "large", number(n), "small", number(other))
	}
	least, most := f.bounds(-1e15, 1e15)
	switch {
	case err != nil || n != n || f.Kind == IntegerField && n != float64(int64(n)):
		return "", v.Say("form.number")
	case n < least || n > most:
		return "", v.Say("form.range", "least", number(least), "most", number(most))
	}
	return number(n), ""
}

func (f Field) checkOptions(v lang.Voice, value string) (stored, problem string) {
	parts := []string{value}
	if f.Kind == ChoicesField {
		parts = strings.Split(value, ",")
	}
	var chosen []string
	for _, part := range parts {
		i, ok := Choices{Options: f.Options}.Named(part)
		if !ok {
			return "", v.Say("form.option", "options", strings.Join(f.Options, ", "))
		}
		if !slices.Contains(chosen, f.Options[i]) {
			chosen = append(chosen, f.Options[i])
		}
	}
	if least, most := f.bounds(0, maxOptions); f.Kind == ChoicesField && (float64(len(chosen)) < least || float64(len(chosen)) > most) {
		return "", v.Say("form.range", "least", number(least), "most", number(most))
	}
	return strings.Join(chosen, ", "), ""
}

// bounds returns Min and Max, or the given ones in their place.
func (f Field) bounds(least, most float64) (lowest, highest float64) {
	if f.Min != nil {
		least = *f.Min
	}
	if f.Max != nil {
		most = *f.Max
	}
	return least, most
}

// Files returns how many files a field of the kind [FileField] takes.
func (f Field) Files() (least, most int) {
	lowest, highest := f.bounds(1, 1)
	return int(lowest), int(highest)
}

// Types returns the media types that fit as words, such as "image, pdf".
func (f Field) Types() string {
	var all []string
	for _, accept := range f.Accept {
		class, kind, _ := strings.Cut(accept, "/")
		if kind == "*" {
			kind = class
		}
		all = append(all, kind)
	}
	return strings.Join(all, ", ")
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// Prompt returns the line that asks for the field where it is asked alone.
func (f Field) Prompt(v lang.Voice) string {
	line := "**" + f.Title + "**"
	switch f.Kind {
	case ChoicesField:
		line += "\n" + Choices{Options: f.Options}.Numbered() + "\n" + v.Say("form.several")
	case ChoiceField:
		line += "\n" + Choices{Options: f.Options}.Numbered()
	case DateField:
		line += " (2026-12-31)"
	case FileField:
		if len(f.Accept) > 0 {
			line += " (" + f.Types() + ")"
		}
		if _, most := f.Files(); most > 1 {
			line += "\n" + v.Say("form.send_files", "most", strconv.Itoa(most), "done", v.Say("form.opened"))
		} else {
			line += "\n" + v.Say("form.send_file")
		}
	}
	if f.Optional {
		line += "\n" + v.Say("form.optional")
	}
	return line
}

// Filled lists the answered fields, one a line. Fields that were left out are missing.
func Filled(all []Field) string {
	var lines []string
	for _, f := range all {
		if f.Done && f.Value != "" {
			lines = append(lines, f.Title+": "+strings.ReplaceAll(f.Value, "\n", " "))
		}
	}
	return strings.Join(lines, "\n")
}
