// Package media implements [attachment.Reader]: it describes images, transcribes audio and extracts the text of
// documents, so that models can use attachments of users.
//
// Nothing about a file is trusted: not its name, its type, its size or its unpacked size. Its content
// decides its kind (kind.go). Images are only measured, never decoded here (picture.go); text is decoded within bounds
// (kind.go); everything that needs a parser is read in another process (package document). A file that can't be read
// never fails a turn: it gets a reason that users see.
package media

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/quota"
	"parley/internal/contain"
	lengths "parley/internal/sound"
)

// Bounds of the work on files.
const (
	// MaxFile is the maximum size of a fetched file in bytes, which is also the limit of Telegram's servers
	MaxFile = 20 << 20
	// fileTime limits the time for one file, including its download.
	fileTime = 45 * time.Second
	// together is the number of files that are read at once, over all rooms, which bounds their memory.
	together = 4
	maxText  = 16_000 // characters of a file that are kept; the rest would not fit into a prompt
)

// Options are the dependencies of a [Reader]. A feature whose dependency is nil is unavailable, and files that need it
// are reported as such.
type Options struct {
	// Fetch returns a whole file of at most limit bytes. Its errors wrap [chat.ErrTooLarge] and [chat.ErrNotFound]
	// where these are the reason.
	Fetch       func(ctx context.Context, connector string, f chat.Attachment, limit int64) (llm.File, error)
	Vision      llm.Model // describes images
	Transcriber llm.Transcriber
	// Documents extracts the text of PDF, Office and HTML documents, and lists archives. The input is untrusted.
	Documents func(ctx context.Context, document []byte) (string, error)
	// Sees reports whether the answering model receives the images themselves. Images without a description are then
	// acceptable.
	Sees bool
	Log  *slog.Logger
}

// Reader is an [attachment.Reader]. It is safe for concurrent use.
type Reader struct {
	options Options
	places  chan struct{} // one for each file that can be read at a time
}

var _ attachment.Reader = (*Reader)(nil)

// New returns a Reader.
func New(o Options) *Reader {
	return &Reader{options: o, places: make(chan struct{}, together)}
}

// unread is an error whose text users see as the reason why a file was not read.
type unread string

func (u unread) Error() string { return string(u) }

// Why files are not read.
const (
	tooLarge  unread = "it is larger than 20 MB"
	gone      unread = "it no longer exists"
	tooSlow   unread = "it took too long"
	unfetched unread = "it could not be fetched"
	blind     unread = "images can't be viewed here"
	deaf      unread = "audio can't be transcribed here"
	strange   unread = "this file type can't be read here"
	endless   unread = "the length of this audio can't be determined; MP3, M4A, Ogg, WAV, FLAC and WebM work"
	silent    unread = "it is too long for its size"
	// unsupported is about images.
	unsupported unread = "this image format is not supported; JPEG and PNG are"
	noText      unread = "it contains no text"
	garbled     unread = "its encoding is unknown; save it as UTF-8"
	broken      unread = "it is damaged"
	noModel     unread = "the model that should read it failed"
)

// Read implements [attachment.Reader].
func (r *Reader) Read(ctx context.Context, connector string, files []chat.Attachment, describe string) []chat.Attachment {
	read := make([]chat.Attachment, len(files))
	var work sync.WaitGroup
	for i, f := range files {
		work.Go(func() { read[i] = r.one(ctx, connector, f, describe) })
	}
	work.Wait()
	return read
}

// one reads one file. Its failure does not affect the others. If a daily limit was reached, the file stays as it is, to
// be read another time.
func (r *Reader) one(ctx context.Context, connector string, f chat.Attachment, describe string) (read chat.Attachment) {
	read = f
	err := r.inPlace(ctx, func(ctx context.Context) error { return r.file(ctx, connector, &read, describe) })
	if err == nil {
		return read
	}
	var over *quota.LimitError
	if errors.As(err, &over) {
		return f // unread for now: the limit resets
	}
	read = f
	read.Unread = reason(err)
	if r.options.Log != nil {
		r.options.Log.Warn("a file can't be read", "connector", connector, "ref", refOf(f), "type", f.Type, "err", err)
	}
	return read
}

// refOf returns the reference of f for logs. The address of a linked page can contain secrets, so it is not logged.
func refOf(f chat.Attachment) string {
	if f.Link {
		return "a linked page"
	}
	return f.Ref
}

// reason returns why a file can't be read, as users see it: damage, unless something else is known.
func reason(err error) string {
	var why unread
	if !errors.As(err, &why) {
		why = broken
	}
	return string(why)
}

// inPlace waits for one of the places, and runs work within the time limit. A panic in a decoder counts as damage of
// the file.
func (r *Reader) inPlace(ctx context.Context, work func(context.Context) error) (err error) {
	select {
	case r.places <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", tooSlow, context.Cause(ctx))
	}
	defer func() { <-r.places }()
	ctx, cancel := context.WithTimeoutCause(ctx, fileTime, tooSlow)
	defer cancel()
	err = contain.Call("the decoder", func() error { return work(ctx) })
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", tooSlow, err)
	}
	return err
}

// file fetches f and reads it by its content.
func (r *Reader) file(ctx context.Context, connector string, f *chat.Attachment, describe string) error {
	claimed := kindOf(f.Type, f.Name)
	if f.Voice {
		claimed = sound
	}
	if why := r.unreadable(claimed); why != "" {
		return why
	}
	if claimed == picture && r.options.Vision == nil {
		return nil // only the answering model needs the image, and fetches it itself, see Pictures
	}
	blob, err := r.fetch(ctx, connector, *f)
	if err != nil {
		return err
	}
	switch found := detectKind(blob.Data, claimed); found {
	case picture:
		return r.look(ctx, f, blob.Data, describe)
	case sound:
		return r.listen(ctx, f, blob)
	case document:
		f.Text, err = plainText(blob.Data)
	case packed:
		f.Text, err = r.unpack(ctx, blob.Data)
	default:
		return refusal(blob.Data, claimed)
	}
	if err != nil {
		return err
	}
	if f.Text = capped(f.Text); f.Text == "" {
		return noText
	}
	return nil
}

// unreadable returns why a file of kind k can't be read whatever its content is, so that it need not be fetched; "" if it
// can be tried.
func (r *Reader) unreadable(k kind) unread {
	switch {
	case k == picture && r.options.Vision == nil && !r.options.Sees:
		return blind
	case k == sound && r.options.Transcriber == nil:
		return deaf
	case k == film:
		return strange
	}
	return ""
}

// fetch downloads f.
func (r *Reader) fetch(ctx context.Context, connector string, f chat.Attachment) (llm.File, error) {
	if f.Size > MaxFile {
		return llm.File{}, tooLarge
	}
	if r.options.Fetch == nil {
		return llm.File{}, unfetched
	}
	blob, err := r.options.Fetch(ctx, connector, f, MaxFile)
	var slow net.Error
	switch {
	case errors.Is(err, chat.ErrTooLarge):
		return llm.File{}, fmt.Errorf("%w: %w", tooLarge, err)
	case errors.Is(err, chat.ErrNotFound):
		return llm.File{}, fmt.Errorf("%w: %w", gone, err)
	case errors.As(err, &slow) && slow.Timeout():
		return llm.File{}, fmt.Errorf("%w: %w", tooSlow, err)
	case err != nil:
		return llm.File{}, fmt.Errorf("%w: %w", unfetched, err)
	case len(blob.Data) > MaxFile:
		return llm.File{}, tooLarge
	case len(blob.Data) == 0:
		return llm.File{}, noText
	}
	return blob, nil
}

// unpack extracts the text of a document that is more than text.
func (r *Reader) unpack(ctx context.Context, data []byte) (string, error) {
	if r.options.Documents == nil {
		return "", strange
	}
	text, err := r.options.Documents(ctx, data)
	var slow interface{ Timeout() bool }
	switch {
	case errors.As(err, &slow) && slow.Timeout():
		return "", fmt.Errorf("%w: %w", tooSlow, err)
	case err != nil:
		return "", fmt.Errorf("%w: %w", broken, err)
	}
	return text, nil
}

// listen transcribes audio.
func (r *Reader) listen(ctx context.Context, f *chat.Attachment, b llm.File) error {
	text, err := r.options.Transcriber.Transcribe(ctx, f.Name, f.Type, b.Data)
	switch {
	case errors.Is(err, lengths.ErrUnknown):
		return fmt.Errorf("%w: %w", endless, err)
	case errors.Is(err, lengths.ErrTooLong):
		return fmt.Errorf("%w: %w", silent, err)
	case err != nil:
		return fmt.Errorf("%w: transcribe: %w", noModel, err)
	}
	if f.Text = capped(text); f.Text == "" {
		return unread("it contains no speech")
	}
	return nil
}

// capped returns text in a form that every store accepts (valid UTF-8 without NUL), cut to maxText.
func capped(text string) string {
	text = strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", ""))
	if utf8.RuneCountInString(text) <= maxText {
		return text
	}
	return string([]rune(text)[:maxText]) + "\n[… truncated]"
}

// Accept lists the files that can be read, in the form of the attribute accept of HTML. It is only a hint for
// choosing: the content of a file counts, so text with another extension can be read too.
func (r *Reader) Accept() []string {
	all := []string{"text/*"}
	for _, class := range []struct {
		kind  kind
		types string
	}{{picture, "image/*"}, {sound, "audio/*"}} {
		if r.unreadable(class.kind) == "" {
			all = append(all, class.types)
		}
	}
	for end, k := range extensions {
		if k == packed && r.options.Documents != nil {
			all = append(all, end)
		}
	}
	all = append(all, textEnds...)
	slices.Sort(all)
	return all
}

// textEnds are the endings of texts that many systems have no text type for.
var textEnds = []string{ // never changed
	".md", ".csv", ".tsv", ".json", ".jsonl", ".yaml", ".yml", ".toml", ".ini", ".conf", ".xml", ".log", ".sql", ".py", ".js", ".ts", ".go", ".rs", ".java", ".kt",
	".c", ".h", ".cpp", ".cs", ".rb", ".php", ".swift", ".sh", ".srt", ".vtt", ".tex", ".ics",
}

// Refuse returns why a file with this name, claimed type and beginning can't be read, in a few words for users, or ""
// if it can be tried. It fetches nothing, so an upload can be refused before it has arrived.
func (r *Reader) Refuse(name, claimed string, head []byte) string {
	kind := kindOf(claimed, name)
	if why := r.unreadable(kind); why != "" {
		return string(why)
	}
	found := detectKind(head, kind)
	if found == other {
		return string(refusal(head, kind))
	}
	return string(r.unreadable(found))
}
