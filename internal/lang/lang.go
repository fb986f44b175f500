// Package lang is the catalog of the sentences that the program says to users, in several languages. Each language is a
// file such as de.json: an object with a text for each key. A text names its placeholders in braces, such as {user}. A
// text that depends on a number is an object with the plural forms of the language by their CLDR names, chosen by {n}.
// Keys of en.json that a language lacks are said in English.
//
// Keys are written as literals, such as "choice.closed". A test reads the source code and fails for a key that is not in
// the catalog, for a placeholder that a call does not fill in, and for a key that no code uses. It relies on the first
// word of the key: a new one goes into its list.
//
// A sentence is put into words as late as possible, in the language of the user who reads it. The context of a request
// or a run carries that language: see [With] and [Say]. A sentence for another user, such as the owner, takes a context
// with theirs. Platforms that take texts in all languages at once, such as descriptions of commands, get them from
// [Every]: the keys are "command.NAME" and "command.NAME.argument".
//
// Logs, errors, the operator's page, the command line and texts for models are in English and not in the catalog.
package lang

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

//go:embed *.json
var files embed.FS

// Tags returns the tags of the languages, such as "de". English is the first one.
func Tags() []string { return []string{"en", "de", "es", "fr", "pt", "ja", "zh", "ar"} }

// Voice puts sentences into words in one language. The zero Voice speaks English. It is safe for concurrent use.
type Voice struct{ tag string }

// In returns the voice in the best language for locales, the most preferred first. Each is a tag such as "de-DE" or
// "pt_BR.UTF-8", or a list as in the header Accept-Language. Without a known language it speaks English.
func In(locales ...string) Voice {
	var wanted []language.Tag
	for _, l := range locales {
		if name, _, ok := strings.Cut(l, "."); ok && !strings.ContainsAny(l, ";,") {
			l = name // of a variable such as LANG
		}
		tags, _, err := language.ParseAcceptLanguage(strings.ReplaceAll(l, "_", "-"))
		if err == nil {
			wanted = append(wanted, tags...)
		}
	}
	_, i, _ := matcher().Match(wanted...)
	return Voice{Tags()[i]}
}

// Locale returns the tag of the language that [In] chooses for an Accept-Language header, with the user's script and region
// if the header has them, such as "de-AT".
func Locale(header string) string {
	tag := In(header).Tag()
	wanted, _, err := language.ParseAcceptLanguage(header)
	for _, t := range wanted {
		base, script, region := t.Raw()
		if own, bad := language.Raw.Compose(base, script, region); err == nil && bad == nil && base.String() == tag {
			return own.String()
		}
	}
	return tag
}

var matcher = sync.OnceValue(func() language.Matcher {
	var tags []language.Tag
	for _, t := range Tags() {
		tags = append(tags, language.Make(t))
	}
	return language.NewMatcher(tags)
})

// Tag returns the tag of the language.
func (v Voice) Tag() string {
	if v.tag == "" {
		return "en"
	}
	return v.tag
}

// Name returns the name of the language in itself, such as "Deutsch".
func (v Voice) Name() string { return v.Say("language.name") }

// Find returns the voice of the language that a user names, by its tag or its name, and reports whether there is one.
func Find(name string) (Voice, bool) {
	for _, tag := range Tags() {
		if v := (Voice{tag}); name != "" && strings.EqualFold(name, v.Name()) {
			return v, true
		}
	}
	t, err := language.Parse(name)
	if err != nil {
		return Voice{}, false
	}
	_, i, sure := matcher().Match(t)
	return Voice{Tags()[i]}, sure >= language.High
}

// Is reports whether said is the sentence with this key in any language, in any case: an option keeps the language in
// which it was offered. Keys of options have no placeholders.
func Is(key, said string) bool {
	for _, s := range Every(key) {
		if strings.EqualFold(s, said) {
			return true
		}
	}
	return false
}

// platform returns the name of the platform of a connector, as users know it. A connector that the catalog lacks keeps its own.
func (v Voice) platform(connector string) string {
	key := "platform." + connector
	if name := v.Say(key); name != key {
		return name
	}
	return connector
}

// Say returns the sentence with this key. pairs are the names of its placeholders, each followed by the value; that of "platform" is the name of a
// connector, such as "web". A key that the catalog lacks is returned as it is.
func (v Voice) Say(key string, pairs ...any) string {
	t, ok := catalog()[v.Tag()][key]
	if !ok {
		if t, ok = catalog()["en"][key]; !ok {
			return key
		}
	}
	values := make([]string, 0, len(pairs))
	count := 0
	for i := 0; i+1 < len(pairs); i += 2 {
		if n, ok := pairs[i+1].(int); ok && pairs[i] == "n" {
			count = n
		}
		value := fmt.Sprint(pairs[i+1])
		if pairs[i] == "platform" {
			value = v.platform(value)
		}
		values = append(values, fmt.Sprintf("{%v}", pairs[i]), value)
	}
	return strings.NewReplacer(values...).Replace(t.form(v.Tag(), count))
}

// Every returns the sentence with this key in all languages, by their tags.
func Every(key string) map[string]string {
	all := map[string]string{}
	for _, tag := range Tags() {
		all[tag] = Voice{tag}.Say(key)
	}
	return all
}

// Section returns the texts whose keys begin with prefix, by the rest of their keys, without those that have plural forms.
func (v Voice) Section(prefix string) map[string]string {
	all := map[string]string{}
	for key, t := range catalog()["en"] {
		if rest, ok := strings.CutPrefix(key, prefix); ok && t.forms == nil {
			all[rest] = v.Say(key)
		}
	}
	return all
}

// Phrases returns the texts whose keys begin with prefix, by the same texts in English, without those that are the same in
// English. The chat page takes those of "page.", because its code contains the English ones.
func (v Voice) Phrases(prefix string) map[string]string {
	all := map[string]string{}
	english := Voice{}.Section(prefix)
	for key, said := range v.Section(prefix) {
		if said != english[key] {
			all[english[key]] = said
		}
	}
	return all
}

// text is an entry of the catalog.
type text struct {
	all   string
	forms map[string]string // by plural form, in place of all; nil for a text without
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		return json.Unmarshal(b, &t.forms)
	}
	return json.Unmarshal(b, &t.all)
}

// form returns the form of t for n things in the language with this tag.
func (t text) form(tag string, n int) string {
	if t.forms == nil {
		return t.all
	}
	names := map[plural.Form]string{plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few", plural.Many: "many"}
	if s, ok := t.forms[names[plural.Cardinal.MatchPlural(language.Make(tag), n, 0, 0, 0, 0)]]; ok {
		return s
	}
	return t.forms["other"]
}

// catalog returns the texts by language and key.
var catalog = sync.OnceValue(func() map[string]map[string]text {
	all := map[string]map[string]text{}
	for _, tag := range Tags() {
		b, err := files.ReadFile(tag + ".json")
		texts := map[string]text{}
		if err == nil {
			err = json.Unmarshal(b, &texts)
		}
		if err != nil {
			panic(fmt.Sprintf("read the embedded texts: %s.json: %v", tag, err)) // a test reads all of them
		}
		all[tag] = texts
	}
	return all
})

// voiceKey is the key of the value that [With] adds to a context.
type voiceKey struct{}

// With returns ctx for the sentences to one user. find returns their voice; it is called once, when the first sentence
// needs it, because most requests say none.
func With(ctx context.Context, find func() Voice) context.Context {
	return context.WithValue(ctx, voiceKey{}, sync.OnceValue(find))
}

// Of returns the voice for the user of ctx: English unless [With] has set one.
func Of(ctx context.Context) Voice {
	if find, ok := ctx.Value(voiceKey{}).(func() Voice); ok {
		return find()
	}
	return Voice{}
}

// Sayer returns [Say] for ctx, for code that says sentences without a context, or seldom: the language is found with the first one.
func Sayer(ctx context.Context) func(key string, pairs ...any) string {
	return func(key string, pairs ...any) string { return Say(ctx, key, pairs...) }
}

// Say is [Voice.Say] in the language of the user of ctx.
func Say(ctx context.Context, key string, pairs ...any) string { return Of(ctx).Say(key, pairs...) }
