package web

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"parley/core/chat"
	"parley/internal/guard"
)

func TestPages(t *testing.T) {
	for name, c := range map[string]struct {
		data, mime string
		err        error
		want       string
		fails      error
	}{
		"a page":       {"<html><head><title>Harbor</title></head><body><nav>Home</nav><p>42 crates.</p></body></html>", "text/html; charset=utf-8", nil, "Harbor\n\n42 crates.", nil},
		"a PDF":        {"%PDF-1.4", "application/pdf", nil, "%PDF-1.4", nil},
		"too large":    {"", "", guard.ErrTooLarge, "", chat.ErrTooLarge},
		"gone":         {"", "", fmt.Errorf("a.example: %w", guard.ErrGone), "", chat.ErrNotFound},
		"not allowed":  {"", "", guard.ErrForbidden, "", guard.ErrForbidden},
		"without text": {"<html><body><script>x</script></body></html>", "TEXT/HTML", nil, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := Pages{pageParser{}, func(_ context.Context, address string, limit int64) ([]byte, string, error) {
				if address != "https://a.example/b?c" || limit != maxPage {
					t.Errorf(`%s is fetched, up to %d bytes; want "https://a.example/b?c" and %d`, address, limit, maxPage)
				}
				return []byte(c.data), c.mime, c.err
			}}
			f, err := p.Fetch(t.Context(), chat.Attachment{Ref: "https://a.example/b?c", Name: "a.example/b", Link: true}, 20<<20)
			if string(f.Data) != c.want || !errors.Is(err, c.fails) || c.fails == nil && err != nil {
				t.Errorf("%q, %v", f.Data, err)
			}
		})
	}
}

// Addresses of the machine and its network are not fetched.
func TestPagesAreGuarded(t *testing.T) {
	p := NewPages(nil, pageParser{})
	for _, address := range []string{"https://127.0.0.1/", "https://[::1]/", "http://a.example/", "https://169.254.169.254/latest", "https://localhost/"} {
		if f, err := p.Fetch(t.Context(), chat.Attachment{Ref: address, Link: true}, 1<<20); !errors.Is(err, guard.ErrForbidden) {
			t.Errorf("%s: %q, %v", address, f.Data, err)
		}
	}
}
