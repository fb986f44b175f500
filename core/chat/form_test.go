package chat_test

import (
	"slices"
	"strings"
	"testing"

	"parley/core/answer"
	"parley/core/chat"
	"parley/internal/lang"
)

func text(ref, field string) chat.Attachment {
	return chat.Attachment{Ref: ref, Name: ref, Type: "text/plain; charset=utf-8", Size: 5, Field: field}
}

// asksFor returns a question with answered files of a field that takes least to most files.
func asksFor(least, most float64, optional bool, files ...chat.Attachment) chat.Question {
	f := answer.Field{Name: "f", Title: "Proof", Kind: answer.FileField, Accept: []string{"text/plain", "image/*"}, Optional: optional, Min: &least, Max: &most}
	q, _ := chat.FormQuestion(lang.In("en"), chat.Form{Fields: []answer.Field{f}, Files: files}, "")
	return q
}

// A value for files names them, or tells the user what does not fit. Files that fit stay, also if there are too few.
func TestFilesOfAField(t *testing.T) {
	big, film := text("big", "f"), text("film", "f")
	big.Size, film.Type = chat.MaxFormFile+1, "video/mp4"
	for name, c := range map[string]struct {
		least, most float64
		optional    bool
		words       string
		files       []chat.Attachment
		want        string // the value, or the reason
		kept        int
	}{
		"one":                    {1, 1, false, "", []chat.Attachment{text("a", "f")}, "a", 1},
		"two":                    {1, 2, false, "", []chat.Attachment{text("a", "f"), text("b", "f")}, "a, b", 2},
		"none":                   {1, 1, false, "", nil, "please send a file.", 0},
		"none, but a text":       {1, 1, true, "here it is", nil, "please send a file.", 0},
		"none, left out":         {1, 1, true, "-", nil, "", 0},
		"one of another field":   {1, 1, false, "", []chat.Attachment{text("a", "g")}, "please send a file.", 0},
		"too few":                {2, 3, false, "", []chat.Attachment{text("a", "f")}, "the number of files must be between 2 and 3.", 1},
		"too many":               {1, 1, false, "", []chat.Attachment{text("a", "f"), text("b", "f")}, "the number of files must be between 1 and 1.", 2},
		"another type":           {1, 2, false, "", []chat.Attachment{film}, "only these types of files fit: plain, image.", 0},
		"a wrong one of several": {1, 2, false, "", []chat.Attachment{text("a", "f"), film}, "only these types of files fit: plain, image.", 1},
		"a text after the first": {1, 3, false, "one moment, there is more", []chat.Attachment{text("a", "f")}, "please send more files, or write “Done”.", 1},
		"Done in words":          {1, 3, false, "Erledigt!", []chat.Attachment{text("a", "f")}, "a", 1},
		"the number of Done":     {1, 3, false, "1", []chat.Attachment{text("a", "f")}, "a", 1},
		"Done without a file":    {1, 3, true, "done.", nil, "", 0},
		"the button":             {1, 3, false, "Done", []chat.Attachment{text("a", "f")}, "a", 1},
		"the button, none":       {1, 3, false, "Done", nil, "please send a file.", 0},
		"the button, left out":   {1, 3, true, "Done", nil, "", 0},
		"a text with the last":   {1, 2, false, "these two", []chat.Attachment{text("a", "f"), text("b", "f")}, "a, b", 2},
		"without a type":         {1, 1, false, "", []chat.Attachment{{Ref: "a", Field: "f"}}, "only these types of files fit: plain, image.", 0},
		"a large one":            {1, 1, false, "", []chat.Attachment{big}, "files may be at most 20 MB.", 0},
	} {
		q := asksFor(c.least, c.most, c.optional, c.files...)
		if q.Choice = slices.Index(q.Options, c.words); q.Choice < 0 {
			q.Options = append(q.Options, answer.JoinValues(c.words))
			q.Choice = len(q.Options) - 1
		}
		form, declined, problem := q.Form(lang.In("en"))
		got := strings.TrimPrefix(problem, "Proof: ")
		if problem == "" {
			got = form.Fields[0].Value
		}
		if got != c.want || declined || form.Fields[0].Done != (problem == "") || len(form.FilesOf("f")) != c.kept {
			t.Errorf("%s: %+v, %q; want %q and %d files", name, form, got, c.want, c.kept)
		}
	}
}

// Of the files of a message, those that the field takes are its answer. The user learns why others are not.
func TestFilesOfAMessage(t *testing.T) {
	film := text("film", "")
	film.Type = "video/mp4"
	voice, link, replied := text("voice", ""), text("link", ""), text("replied", "")
	voice.Voice, link.Link, replied.Origin = true, true, chat.RepliedFile
	a, b, c := text("a", ""), text("b", ""), text("c", "")
	const types, full = "Proof: only these types of files fit: plain, image.", "Proof: I have all the files I need here, so I ignore the rest."
	for name, tc := range map[string]struct {
		q     chat.Question
		files []chat.Attachment
		want  string
		more  bool
		unfit string
	}{
		"one":                    {asksFor(1, 1, false), []chat.Attachment{a}, "a", false, ""},
		"one of several":         {asksFor(1, 3, false), []chat.Attachment{a}, "a", true, ""},
		"the last of several":    {asksFor(1, 2, false, text("x", "f")), []chat.Attachment{a}, "a", false, ""},
		"too many":               {asksFor(1, 1, false), []chat.Attachment{a, b, c}, "a", false, full},
		"too many with others":   {asksFor(1, 3, false, text("x", "f"), text("y", "g")), []chat.Attachment{a, b, c}, "a b", false, full},
		"another type":           {asksFor(1, 1, false), []chat.Attachment{film}, "", true, types},
		"the second one fits":    {asksFor(1, 1, false), []chat.Attachment{film, a}, "a", false, types},
		"no files":               {asksFor(1, 1, false), []chat.Attachment{voice, link, replied}, "", true, ""},
		"another kind of field":  {chat.Question{Fields: []answer.Field{{Name: "t", Kind: answer.TextField}}}, []chat.Attachment{a}, "", true, ""},
		"a question, but a form": {chat.Question{}, []chat.Attachment{a}, "", true, ""},
	} {
		fit, more, unfit := tc.q.FormFiles(lang.In("en"), chat.Message{Memory: chat.Memory{Files: tc.files}, Group: "g"})
		var got []string
		for _, f := range fit {
			if got = append(got, f.Ref); f.Field != "f" || f.Group != "g" {
				t.Errorf("%s: %+v is not of the field and the album", name, f)
			}
		}
		if strings.Join(got, " ") != tc.want || more != tc.more || unfit != tc.unfit {
			t.Errorf("%s: %q, %v, %q; want %q, %v, %q", name, got, more, unfit, tc.want, tc.more, tc.unfit)
		}
	}
}
