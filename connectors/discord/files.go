package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"parley/connectors"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/guard"
	"parley/internal/rest"
)

// voiceMessage is the flag of a voice message.
const voiceMessage = 1 << 13

// attachment is a file of a message. Its URL is signed and expires, so it is never stored but used at once.
type attachment struct {
	ID          string `json:"id"`
	Name        string `json:"filename"`
	Type        string `json:"content_type"`
	Size        int64  `json:"size"`
	Description string `json:"description"`
	URL         string `json:"url"`

	Seconds float64 `json:"duration_secs"` // of a voice message
}

// fileRef returns [chat.Attachment.Ref], the key to fetch an attachment again. Its form is stored, so it must not
// change.
func fileRef(channel, message, attachment string) string {
	return channel + "/" + message + "/" + attachment
}

// files returns the attachments of m, and those of the messages that it forwards. Both are fetched from m itself. One without a valid id
// could not be fetched, and is left out.
func (m message) files() []chat.Attachment {
	all := m.filesOf(m)
	for _, f := range m.Forwarded {
		all = append(all, connectors.From(chat.ForwardedFile, m.filesOf(f.Message))...)
	}
	return all
}

// filesOf returns the attachments of part, which is m or a message that m forwards.
func (m message) filesOf(part message) (all []chat.Attachment) {
	for _, a := range part.Attachments {
		if snowflake(a.ID) == 0 {
			continue
		}
		all = append(all, chat.Attachment{
			Ref: fileRef(m.Channel, m.ID, a.ID), Name: a.Name, Type: a.Type, Size: a.Size,
			Voice: part.Flags&voiceMessage != 0, Title: a.Description,
		})
	}
	return all
}

var _ connectors.Fetcher = (*Discord)(nil)

// fetchTries limits how often a message is requested while Discord rate limits the request.
const fetchTries = 3

// newFiles returns the client for Discord's file servers. It refuses other hosts, whatever URL a message contains, so
// that a message can't make the gateway send requests to internal addresses. Only a compatible server configured by the
// owner may serve files from its API host.
func newFiles(apiURL string, dial connectors.Dialer) *guard.Client {
	o := guard.Options{Hosts: []string{"cdn.discordapp.com", "media.discordapp.net"}, Dial: dial}
	if u, err := url.Parse(apiURL); err == nil && u.Host != "" {
		o.Trusted = u.Scheme + "://" + u.Host
	}
	return guard.New(o)
}

// Fetch implements [connectors.Fetcher]. The URLs of files are signed and expire after a day, so it fetches the message
// again for a fresh one. The stated size is checked first, to save the request; the limit is enforced while reading
// too, because the size is only a claim.
func (d *Discord) Fetch(ctx context.Context, f chat.Attachment, limit int64) (llm.File, error) {
	if f.Size > limit {
		return llm.File{}, fmt.Errorf("fetch a file of %d bytes: %w", f.Size, chat.ErrTooLarge)
	}
	address := f.Ref // of a form, see values
	if !strings.Contains(address, "://") {
		at, err := d.attachment(ctx, f.Ref)
		if err != nil {
			return llm.File{}, fmt.Errorf("fetch a file: %w", err)
		}
		address = at.URL
	}
	data, _, err := d.files.Get(ctx, address, limit)
	switch {
	case errors.Is(err, guard.ErrGone):
		err = fmt.Errorf("%w: %w", chat.ErrNotFound, err)
	case errors.Is(err, guard.ErrTooLarge):
		err = fmt.Errorf("%w: %w", chat.ErrTooLarge, err)
	}
	return llm.File{Name: f.Name, Type: f.Type, Data: data}, err
}

// attachment returns a file with a fresh URL. ref is what fileRef returned. It fails with [chat.ErrNotFound] if the
// message or the file was deleted, or is invisible to the bot.
func (d *Discord) attachment(ctx context.Context, ref string) (attachment, error) {
	channel, rest, _ := strings.Cut(ref, "/")
	id, file, _ := strings.Cut(rest, "/")
	if snowflake(channel) == 0 || snowflake(id) == 0 || snowflake(file) == 0 {
		return attachment{}, fmt.Errorf("%w: the reference names no file", chat.ErrNotFound)
	}
	type holder struct {
		Attachments []attachment `json:"attachments"`
	}
	var m struct {
		holder
		Forwarded []struct {
			Message holder `json:"message"`
		} `json:"message_snapshots"`
	}
	err := d.patiently(ctx, func() error {
		return d.client.do(ctx, http.MethodGet, "channels/"+channel+"/messages/"+id, nil, &m)
	})
	var no *refusal
	switch {
	case errors.As(err, &no) && (no.status == http.StatusNotFound || no.status == http.StatusForbidden):
		return attachment{}, fmt.Errorf("%w: %w", chat.ErrNotFound, err)
	case err != nil:
		return attachment{}, err
	}
	all := m.Attachments
	for _, f := range m.Forwarded {
		all = append(all, f.Message.Attachments...)
	}
	i := slices.IndexFunc(all, func(a attachment) bool { return a.ID == file })
	if i < 0 {
		return attachment{}, fmt.Errorf("%w: the message no longer has this file", chat.ErrNotFound)
	}
	return all[i], nil
}

// patiently retries ask while Discord rate limits it, at most fetchTries times. If the wait would outlast ctx, the
// error is returned at once.
func (d *Discord) patiently(ctx context.Context, ask func() error) error {
	for try := 1; ; try++ {
		err := ask()
		var h held
		if !errors.As(err, &h) || try == fetchTries {
			return err
		}
		if end, ok := ctx.Deadline(); ok && time.Until(end) < h.after {
			return err
		}
		if err := rest.For(ctx, h.after); err != nil {
			return err
		}
	}
}
