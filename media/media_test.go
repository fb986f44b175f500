package media

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/chat"
	"parley/core/llm"
	"parley/core/quota"
)

// png is a picture whose header claims that size; there is nothing behind it.
func png(width, height uint32) []byte {
	head := binary.BigEndian.AppendUint32([]byte("IHDR"), width)
	head = append(binary.BigEndian.AppendUint32(head, height), 8, 2, 0, 0, 0)
	b := bytes.NewBufferString("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d")
	b.Write(head)
	b.Write(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(head)))
	return b.Bytes()
}

// webp is the header of a picture of that kind and size.
func webp(kind string, width, height uint32) []byte {
	b := append([]byte("RIFF\x00\x00\x00\x00WEBP"+kind+"\x00\x00\x00\x00"), make([]byte, 14)...)
	switch kind {
	case "VP8 ":
		binary.LittleEndian.PutUint16(b[26:], uint16(width))
		binary.LittleEndian.PutUint16(b[28:], uint16(height))
	case "VP8L":
		binary.LittleEndian.PutUint32(b[21:], width-1|(height-1)<<14)
	case "VP8X":
		b[24], b[25], b[26] = byte(width-1), byte((width-1)>>8), byte((width-1)>>16)
		b[27], b[28], b[29] = byte(height-1), byte((height-1)>>8), byte((height-1)>>16)
	}
	return b
}

// eyes see what say says, and count.
type eyes struct {
	say    string
	err    error
	panics bool
	looks  atomic.Int32
}

func (e *eyes) Generate(_ context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		e.looks.Add(1)
		if e.panics {
			panic("the model breaks")
		}
		if e.err != nil {
			yield(llm.Chunk{}, e.err)
			return
		}
		yield(llm.Chunk{Text: e.say + fmt.Sprint(len(req.Messages[0].Images))}, nil)
	}
}

// ears hear what they are given.
type ears struct{ err error }

func (e ears) Transcribe(_ context.Context, name, _ string, sound []byte) (string, error) {
	return string(sound), e.err
}

// serving gives data for every file.
func serving(data []byte) func(context.Context, string, chat.Attachment, int64) (llm.File, error) {
	return func(context.Context, string, chat.Attachment, int64) (llm.File, error) {
		return llm.File{Data: data}, nil
	}
}

func failing(err error) func(context.Context, string, chat.Attachment, int64) (llm.File, error) {
	return func(context.Context, string, chat.Attachment, int64) (llm.File, error) { return llm.File{}, err }
}

func TestRead(t *testing.T) {
	senses := Options{Vision: &eyes{say: "A fox. "}, Transcriber: ears{}}
	with := func(o Options, data []byte) Options { o.Fetch = serving(data); return o }
	failed := func(err error) Options { o := senses; o.Fetch = failing(err); return o }
	picture := chat.Attachment{Name: "a.png", Type: "image/png"}
	text := chat.Attachment{Name: "a.txt", Type: "text/plain"}
	voice := chat.Attachment{Name: "v.ogg", Type: "audio/ogg", Voice: true}
	for name, c := range map[string]struct {
		options Options
		file    chat.Attachment
		want    string // description|text|unread
	}{
		"a picture":                 {with(senses, png(9, 9)), picture, "A fox. 1||"},
		"a picture without a type":  {with(senses, png(9, 9)), chat.Attachment{Name: "A.PNG"}, "A fox. 1||"},
		"WebP":                      {with(senses, webp("VP8X", 9, 9)), chat.Attachment{Type: "image/webp"}, "A fox. 1||"},
		"a text":                    {with(senses, []byte("hello")), text, "|hello|"},
		"JSON":                      {with(senses, []byte(`{"a":1}`)), chat.Attachment{Name: "a.json", Type: "application/json"}, `|{"a":1}|`},
		"source without a type":     {with(senses, []byte("package a")), chat.Attachment{Name: "a.go"}, "|package a|"},
		"an SVG is text":            {with(senses, []byte("<svg/>")), chat.Attachment{Name: "a.svg", Type: "image/svg+xml"}, "|<svg/>|"},
		"a voice":                   {with(senses, []byte("hi")), voice, "|hi|"},
		"music":                     {with(senses, []byte("la")), chat.Attachment{Name: "a.mp3", Type: "audio/mpeg"}, "|la|"},
		"a picture said to be text": {with(senses, png(9, 9)), text, "A fox. 1||"},
		"a program said to be text": {with(senses, []byte("MZ\x00\x01\x02")), text, "||this file type can't be read here"},
		"a page said to be sound":   {with(senses, []byte("<!DOCTYPE html><p>no")), voice, "||this file type can't be read here"},
		"a page said to be a photo": {with(senses, []byte("<!DOCTYPE html><p>no")), picture, "||this file type can't be read here"},
		"HEIC":                      {with(senses, heic), chat.Attachment{Name: "a.heic", Type: "image/heic"}, "||this image format is not supported; JPEG and PNG are"},
		"a bitmap":                  {with(senses, []byte("BM\x00\x01\x02")), chat.Attachment{Name: "a.bmp", Type: "image/bmp"}, "||this image format is not supported; JPEG and PNG are"},
		"HEIC without a type":       {with(senses, heic), chat.Attachment{Name: "a.heic"}, "||this image format is not supported; JPEG and PNG are"},
		"a film":                    {with(senses, []byte("x")), chat.Attachment{Name: "a.mp4", Type: "video/mp4"}, "||this file type can't be read here"},
		"a zip":                     {with(senses, []byte("PK\x03\x04\x00")), chat.Attachment{Name: "a.zip", Type: "application/zip"}, "||this file type can't be read here"},
		"nothing":                   {with(senses, nil), text, "||it contains no text"},
		"only blanks":               {with(senses, []byte(" \n ")), text, "||it contains no text"},
		"silence":                   {with(senses, []byte("  ")), voice, "||it contains no speech"},
		"no eyes":                   {with(Options{}, png(9, 9)), picture, "||images can't be viewed here"},
		"eyes elsewhere":            {with(Options{Sees: true}, png(9, 9)), picture, "||"},
		"a picture, eyes elsewhere": {with(Options{Sees: true}, png(9, 9)), text, "||"},
		"no ears":                   {with(Options{}, nil), voice, "||audio can't be transcribed here"},
		"without a fetcher":         {senses, text, "||it could not be fetched"},
		"gone":                      {failed(fmt.Errorf("404: %w", chat.ErrNotFound)), text, "||it no longer exists"},
		"larger than said":          {failed(fmt.Errorf("21 MB: %w", chat.ErrTooLarge)), text, "||it is larger than 20 MB"},
		"a broken line":             {failed(errors.New("reset")), text, "||it could not be fetched"},
		"a slow server":             {failed(context.DeadlineExceeded), text, "||it took too long"},
		"SE-04: 16384² pixels":      {with(senses, png(16384, 16384)), picture, "||the image is too large: 16384 × 16384 pixels"},
		"SE-04: 11000² pixels":      {with(senses, png(11000, 11000)), picture, "||the image is too large: 11000 × 11000 pixels"},
		"SE-04: more than a number": {with(senses, png(1<<31-1, 1<<31-1)), picture, "||it is damaged"},
		"SE-04: WebP, lossy":        {with(senses, webp("VP8 ", 16000, 16000)), picture, "||the image is too large: 16000 × 16000 pixels"},
		"SE-04: WebP, lossless":     {with(senses, webp("VP8L", 16000, 16000)), picture, "||the image is too large: 16000 × 16000 pixels"},
		"SE-04: WebP, extended":     {with(senses, webp("VP8X", 1<<24, 1<<24)), picture, "||the image is too large: 16777216 × 16777216 pixels"},
		"no size":                   {with(senses, png(0, 9)), picture, "||it is damaged"},
		"half a header":             {with(senses, png(9, 9)[:20]), picture, "||it is damaged"},
		"half a WebP":               {with(senses, webp("VP8X", 9, 9)[:20]), picture, "||it is damaged"},
		"a picture of 11 MB":        {with(senses, append(png(9, 9), make([]byte, 11<<20)...)), picture, "||the image is larger than 10 MB"},
		"the model fails":           {with(Options{Vision: &eyes{err: errors.New("sk-secret")}}, png(9, 9)), picture, "||the model that should read it failed"},
		"the model breaks":          {with(Options{Vision: &eyes{panics: true}}, png(9, 9)), picture, "||it is damaged"},
		"the ears fail":             {with(Options{Transcriber: ears{err: errors.New("no")}}, []byte("x")), voice, "||the model that should read it failed"},
		"SE-05: a name with a path": {with(senses, []byte("hi")), chat.Attachment{Name: "../../etc/passwd\x00.png", Type: "text/plain"}, "|hi|"},
		"a PDF":                     {with(Options{Documents: func(context.Context, []byte) (string, error) { return "tea", nil }}, []byte("%PDF-1.4")), chat.Attachment{Name: "a.pdf"}, "|tea|"},
		"a damaged PDF":             {with(Options{Documents: func(context.Context, []byte) (string, error) { return "", errors.New("no") }}, []byte("%PDF-1.4")), chat.Attachment{Name: "a.pdf"}, "||it is damaged"},
		"a letter":                  {with(Options{Documents: func(context.Context, []byte) (string, error) { return "dear", nil }}, []byte("PK\x03\x04")), chat.Attachment{Name: "a.docx"}, "|dear|"},
		"a page":                    {with(Options{Documents: func(context.Context, []byte) (string, error) { return "# News", nil }}, []byte(" <!doctype HTML><h1>News")), chat.Attachment{Name: "a.htm"}, "|# News|"},
		"a part of a page is text":  {with(senses, []byte("<p>News")), chat.Attachment{Name: "a.html", Type: "text/html"}, "|<p>News|"},
		"source that holds a page":  {with(senses, []byte("<!doctype html>")), chat.Attachment{Name: "a.txt", Type: "text/plain"}, "|<!doctype html>|"},
		"a PDF, without a reader":   {with(senses, []byte("%PDF-1.4")), chat.Attachment{Name: "a.pdf", Type: "application/pdf"}, "||this file type can't be read here"},
	} {
		t.Run(name, func(t *testing.T) {
			got := New(c.options).Read(t.Context(), "fake", []chat.Attachment{c.file}, "what is it?")[0]
			if said := got.Description + "|" + got.Text + "|" + got.Unread; said != c.want {
				t.Errorf("got %q; want %q", said, c.want)
			}
			if got.Name != c.file.Name || got.Type != c.file.Type {
				t.Errorf("it was renamed: %+v", got)
			}
		})
	}
}

// heic is the beginning of an image of a phone.
var heic = []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic")

// A format that models don't accept is not damage, wherever it is refused.
func TestUnsupportedPictures(t *testing.T) {
	f := chat.Attachment{Name: "a.heic", Type: "image/heic"}
	r := New(Options{Sees: true, Fetch: func(context.Context, string, chat.Attachment, int64) (llm.File, error) {
		return llm.File{Data: heic}, nil
	}})
	shown, fetched := r.Pictures(t.Context(), "fake", []chat.Attachment{f}, 1)
	if len(shown) > 0 || len(fetched) != 1 || fetched[0].Unread != string(unsupported) {
		t.Errorf("%v, %+v", shown, fetched)
	}
	if why := r.Refuse(f.Name, f.Type, heic); why != string(unsupported) {
		t.Error(why)
	}
}

// TR-31: what is said to be too large is not asked for.
func TestTooLargeIsNotFetched(t *testing.T) {
	o := Options{Fetch: func(context.Context, string, chat.Attachment, int64) (llm.File, error) {
		t.Error("a file that is said to be too large was fetched; want no fetch")
		return llm.File{}, nil
	}}
	got := New(o).Read(t.Context(), "fake", []chat.Attachment{{Name: "a.txt", Size: MaxFile + 1}}, "")[0]
	if got.Unread != string(tooLarge) {
		t.Errorf("got %+v", got)
	}
}

func TestDescriptions(t *testing.T) {
	for said, want := range map[string]string{
		"A fox.": "|A fox.1|",
		"<response><title>Fox</title><description>A red fox.</description><text>I see a fox.</text></response>": "Fox|A red fox.|I see a fox.",
		"<title>Fox</title><text>I see a fox.</text>":                                                           "Fox|I see a fox.|",
		"<description>A red fox.": "|A red fox.1|",
		"<title>Fox</title>":      "|<title>Fox</title>1|",
	} {
		f := New(Options{Vision: &eyes{say: said}, Fetch: serving(png(1, 1))})
		got := f.Read(t.Context(), "", []chat.Attachment{{Type: "image/png"}}, "")[0]
		if got.Title+"|"+got.Description+"|"+got.Text != want || got.Unread != "" {
			t.Errorf("%q: %+v", said, got)
		}
	}
	if title, description, text := parts(" \n "); title+description+text != "" {
		t.Errorf("nothing is %q, %q, %q", title, description, text)
	}
	f := New(Options{Vision: &eyes{say: "<title>Fox</title><description>A red fox."}, Fetch: serving(png(1, 1))})
	if got := f.Read(t.Context(), "", []chat.Attachment{{Type: "image/png", Title: "mine"}}, "")[0]; got.Title != "mine" {
		t.Errorf(`the sender's title became %q; want "mine"`, got.Title)
	}
}

// Slow files hold up neither the others nor the turn: each ends when its time is up, or the turn's.
func TestSlowFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(Options{Fetch: func(ctx context.Context, _ string, f chat.Attachment, _ int64) (llm.File, error) {
			if f.Name == "slow.txt" {
				<-ctx.Done()
				return llm.File{}, context.Cause(ctx)
			}
			return llm.File{Data: []byte("quick")}, nil
		}})
		files := []chat.Attachment{{Name: "slow.txt"}, {Name: "quick.txt"}, {Name: "slow.txt"}}
		start := time.Now()
		got := r.Read(t.Context(), "", files, "")
		if got[0].Unread != string(tooSlow) || got[1].Text != "quick" || time.Since(start) != fileTime {
			t.Errorf("after %v: %+v", time.Since(start), got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		got = r.Read(ctx, "", files, "")
		if got[2].Unread != string(tooSlow) || got[1].Text != "quick" || time.Since(start) != time.Second {
			t.Errorf("after %v: %+v", time.Since(start), got)
		}
	})
}

// However many files come, few are in memory at once.
func TestFewAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		r := New(Options{Fetch: func(context.Context, string, chat.Attachment, int64) (llm.File, error) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			return llm.File{Data: []byte("x")}, nil
		}})
		for _, f := range r.Read(t.Context(), "", make([]chat.Attachment, 20), "") {
			if f.Text != "x" {
				t.Errorf("got %+v", f)
			}
		}
		if most.Load() != together {
			t.Errorf("%d at once; want %d", most.Load(), together)
		}
	})
}

// LM-08: a long text is kept in part, and says so.
func TestLongText(t *testing.T) {
	for _, one := range []string{"a", "ü", "世"} {
		r := New(Options{Fetch: serving([]byte(strings.Repeat(one, 2*maxDocument)))})
		got := r.Read(t.Context(), "", []chat.Attachment{{Name: "a.txt"}}, "")[0].Text
		if n := len([]rune(got)); n > maxText+50 || !strings.HasSuffix(got, "[… truncated]") || strings.Contains(got, "\uFFFD") {
			t.Errorf("%d characters, ending with %q", n, got[len(got)-40:])
		}
	}
}

// A picture is shown only if it is one, and as it is.
func TestPictures(t *testing.T) {
	files := map[string][]byte{"a.png": png(2, 2), "b.webp": webp("VP8X", 2, 2), "bomb.png": png(16384, 16384), "page.png": []byte("<html>"), "t.txt": []byte("text")}
	var asked []string
	r := New(Options{Sees: true, Fetch: func(_ context.Context, _ string, f chat.Attachment, _ int64) (llm.File, error) {
		data, ok := files[f.Name]
		if !ok {
			return llm.File{}, chat.ErrNotFound
		}
		return llm.File{Data: data}, nil
	}})
	all := []chat.Attachment{{Name: "a.png"}, {Name: "bomb.png"}, {Name: "gone.png"}, {Name: "page.png"}, {Name: "t.txt"}, {Name: "b.webp"}, {Name: "a.png", Unread: "no"}}
	shown, fetched := r.Pictures(t.Context(), "", all, 9)
	for _, b := range shown {
		asked = append(asked, b.Name+" "+b.Type)
	}
	var unread []string
	for _, f := range fetched {
		unread = append(unread, f.Name+" "+f.Unread)
	}
	if got := strings.Join(unread, ", "); got != "a.png , bomb.png the image is too large: 16384 × 16384 pixels, gone.png it no longer exists, page.png this file type can't be read here, b.webp " {
		t.Errorf(`fetched: %s; want "a.png , bomb.png the image is too large: 16384 × 16384 pixels, gone.png it no longer exists, page.png this file type can't be read here, b.webp "`, got)
	}
	if got := strings.Join(asked, ", "); got != "a.png image/png, b.webp image/webp" {
		t.Errorf(`shown: %s; want "a.png image/png, b.webp image/webp"`, got)
	}
	if shown, _ := r.Pictures(t.Context(), "", []chat.Attachment{all[0], all[0], all[0]}, 2); len(shown) != 2 {
		t.Errorf("%d pictures; want 2", len(shown))
	}
}

// SE-19: what a limit forbids to read is not given up for good.
func TestOverTheLimitIsReadLater(t *testing.T) {
	over := &quota.LimitError{Bucket: "person/ada"}
	vision := &eyes{err: over}
	r := New(Options{Fetch: serving(png(2, 2)), Vision: vision, Transcriber: ears{err: over}})
	files := []chat.Attachment{{Ref: "a", Type: "image/png"}, {Ref: "b", Type: "audio/ogg", Voice: true}}
	for _, f := range r.Read(t.Context(), "fake", files, "What is it?") {
		if f.Read() {
			t.Errorf("over the limit %+v is done with", f)
		}
	}
	vision.err, vision.say = nil, "a cat "
	if f := r.Read(t.Context(), "fake", files[:1], "What is it?")[0]; f.Description != "a cat 1" {
		t.Errorf("later it is read as %+v", f)
	}
}
