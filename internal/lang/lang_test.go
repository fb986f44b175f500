package lang

import (
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"

	"parley/internal/require"
)

var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

// placeholders returns the sorted names of the placeholders of s, each once.
func placeholders(s string) []string {
	all := placeholder.FindAllString(s, -1)
	slices.Sort(all)
	return slices.Compact(all)
}

// forms returns the texts of t by plural form; "" is the form of a text without any.
func (t text) everyForm() map[string]string {
	if t.forms == nil {
		return map[string]string{"": t.all}
	}
	return t.forms
}

func TestLanguagesAreComplete(t *testing.T) {
	en := catalog()["en"]
	for _, tag := range Tags() {
		texts := catalog()[tag]
		for key := range texts {
			if _, ok := en[key]; !ok {
				t.Errorf("%s.json has %q, which en.json lacks", tag, key)
			}
		}
		for key, want := range en {
			got, ok := texts[key]
			if !ok {
				t.Errorf("%s.json lacks %q", tag, key)
				continue
			}
			if (want.forms == nil) != (got.forms == nil) {
				t.Errorf("%s.json: %q: plural forms where English has none, or none where English has some", tag, key)
				continue
			}
			for form, s := range got.everyForm() {
				wanted := placeholders(cmpForm(want))
				has := placeholders(s)
				if form != "" && form != "other" && !slices.Contains(has, "{n}") { // such as "one message"
					wanted = slices.DeleteFunc(wanted, func(p string) bool { return p == "{n}" })
				}
				if !slices.Equal(has, wanted) {
					t.Errorf("%s.json: %q has the placeholders %v; want %v", tag, key, has, wanted)
				}
				if strings.TrimSpace(s) == "" {
					t.Errorf("%s.json: %q is empty", tag, key)
				}
			}
		}
	}
}

func cmpForm(t text) string {
	if t.forms != nil {
		return t.forms["other"]
	}
	return t.all
}

func TestPluralFormsAreThoseOfTheLanguage(t *testing.T) {
	names := map[plural.Form]string{plural.Other: "other", plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many"}
	for _, tag := range Tags() {
		var wanted []string
		for n := range 1000 { // larger numbers have no other forms of whole things, apart from millions
			wanted = append(wanted, names[plural.Cardinal.MatchPlural(language.Make(tag), n, 0, 0, 0, 0)])
		}
		slices.Sort(wanted)
		wanted = slices.Compact(wanted)
		for key, s := range catalog()[tag] {
			if s.forms == nil {
				continue
			}
			if got := slices.Sorted(maps.Keys(s.forms)); !slices.Equal(got, wanted) {
				t.Errorf("%s.json: %q has the plural forms %v; want %v", tag, key, got, wanted)
			}
		}
	}
}

func TestFilesHaveEachKeyOnce(t *testing.T) {
	for _, tag := range Tags() {
		b := require.Value(files.ReadFile(tag + ".json"))(t)
		d := json.NewDecoder(strings.NewReader(string(b)))
		seen, depth, isKey := map[string]bool{}, 0, true
		for {
			token, err := d.Token()
			if err != nil {
				break
			}
			switch v := token.(type) {
			case json.Delim:
				depth += map[json.Delim]int{'{': 1, '}': -1}[v]
				isKey = true
			case string:
				if depth == 1 && isKey {
					if seen[v] {
						t.Errorf("%s.json has %q twice", tag, v)
					}
					seen[v] = true
				}
				isKey = depth != 1 || !isKey
			}
		}
	}
}

// Discord accepts descriptions of up to 100 characters, Telegram of up to 256.
func TestDescriptionsOfCommandsFitPlatforms(t *testing.T) {
	for _, tag := range Tags() {
		for key, s := range catalog()[tag] {
			if n := utf8.RuneCountInString(s.all); strings.HasPrefix(key, "command.") && (n == 0 || n > 100) {
				t.Errorf("%s.json: %q has %d characters; want 1 to 100", tag, key, n)
			}
		}
	}
}

func TestLanguageOfLocales(t *testing.T) {
	for want, all := range map[string][][]string{
		"en": {{}, {""}, {"en-GB"}, {"sw"}, {"tlh"}, {"not a tag"}, {"sw", "en"}, {"C.UTF-8"}, {"POSIX"}, {"*"}},
		"de": {{"de"}, {"de-DE"}, {"de_AT.UTF-8"}, {"sw", "de"}, {"fr;q=0.2, de;q=0.9"}, {"de;q=0.9"}, {"gsw"}},
		"es": {{"es-ES"}, {"es-419"}, {"es_MX"}},
		"fr": {{"fr-CA"}},
		"pt": {{"pt"}, {"pt-BR"}, {"pt-PT"}},
		"ja": {{"ja-JP"}},
		"zh": {{"zh"}, {"zh-CN"}, {"zh-Hans"}, {"zh_CN.UTF-8"}, {"zh-hans"}},
		"ar": {{"ar"}, {"ar-EG"}},
	} {
		for _, locales := range all {
			if got := In(locales...).Tag(); got != want {
				t.Errorf("the language for %q is %s; want %s", locales, got, want)
			}
		}
	}
}

func TestLocale(t *testing.T) {
	for header, want := range map[string]string{
		"": "en", "de": "de", "de-AT,de;q=0.9": "de-AT", "fi,pt-BR;q=0.8": "pt-BR", "fi": "en", "zh-Hant-HK": "zh-Hant-HK", "gsw": "de", "en-US-u-hc-h12": "en-US",
		"de-1996": "de", "*": "en", "en;q=0.2, ar-EG": "ar-EG", "<b>": "en",
	} {
		if got := Locale(header); got != want || In(got) != In(header) {
			t.Errorf("Locale(%q) = %q, want %q", header, got, want)
		}
	}
}

func TestSentences(t *testing.T) {
	if got, want := In("de").Say("language.which", "languages", "x, y", "tag", "de"), "Ich spreche diese Sprachen: x, y. Wähle eine mit `/language de`, oder `/language auto` für die Sprache deiner App."; got != want {
		t.Errorf("the sentence is %q; want %q", got, want)
	}
	if got := In("de").Say("no.such"); got != "no.such" {
		t.Errorf("an unknown key is said as %q", got)
	}
	if got := (Voice{}).Say("command.help"); got != "Show commands" {
		t.Errorf("the zero voice says %q", got)
	}
	if got := Every("command.help"); len(got) != len(Tags()) || got["de"] != "Befehle anzeigen" {
		t.Errorf("the description in all languages is %v", got)
	}
	if got := In("fr").Section("language."); got["name"] != "Français" || got["set"] == "" {
		t.Errorf("a section is %v", got)
	}
	if got := In("fr").Phrases("language.")["English"]; got != "Français" {
		t.Errorf("the phrase for English is %q", got)
	}
}

func TestPluralIsChosenByNumber(t *testing.T) {
	s := text{forms: map[string]string{"one": "1", "two": "2", "few": "f", "many": "m", "zero": "0", "other": "o"}}
	for n, want := range map[int]string{0: "0", 1: "1", 2: "2", 3: "f", 11: "m", 100: "o"} {
		if got := s.form("ar", n); got != want {
			t.Errorf("%d in Arabic has the form %q; want %q", n, got, want)
		}
	}
	if got := s.form("ja", 1); got != "o" {
		t.Errorf("1 in Japanese has the form %q", got)
	}
}

func TestVoiceOfContextIsFoundOnceAndLate(t *testing.T) {
	calls := 0
	ctx := With(context.Background(), func() Voice { calls++; return In("es") })
	if calls != 0 {
		t.Error("the voice was looked up before a sentence was said")
	}
	for range 2 {
		if got := Say(ctx, "language.name"); got != "Español" {
			t.Errorf("it says %q", got)
		}
	}
	if calls != 1 {
		t.Errorf("the voice was looked up %d times", calls)
	}
	if got := Say(context.Background(), "language.name"); got != "English" {
		t.Errorf("without a voice it says %q", got)
	}
}
