package knowledge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/internal/require"
)

var errElsewhere = errors.New("no page of this site")

// shopSite is a site with a sitemap index, whose pages can change.
type shopSite struct {
	mu     sync.Mutex
	down   bool
	pages  map[string]string
	asked  []string
	robots string
}

func (s *shopSite) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.URL.Path)
	body, ok := s.pages[r.URL.Path]
	switch {
	case s.down:
		http.Error(rw, "down", http.StatusBadGateway)
	case r.URL.Path == "/robots.txt" && s.robots != "":
		_, _ = rw.Write([]byte(s.robots))
	case r.URL.Path == "/index.xml":
		fmt.Fprint(rw, `<?xml version="1.0"?><sitemapindex xmlns="https://www.sitemaps.org/schemas/sitemap/0.9"><sitemap><loc>
			https://shop.test/pages.xml</loc></sitemap><sitemap><loc>https://evil.test/pages.xml</loc></sitemap></sitemapindex>`)
	case r.URL.Path == "/pages.xml":
		fmt.Fprint(rw, `<urlset xmlns="https://www.sitemaps.org/schemas/sitemap/0.9">`)
		for _, page := range []string{"https://shop.test/hours", "https://shop.test/hours", "https://shop.test/gone", "https://shop.test/private/a", "https://shop.test/private/open",
			"https://evil.test/x", "https://shop.test.evil.test/x", "https://user@shop.test/x", "ftp://shop.test/x", "https://shop.test/away", "https://shop.test:81/x", "::"} {
			fmt.Fprintf(rw, "<url><loc>%s</loc><lastmod>2026-01-01</lastmod></url>", page)
		}
		fmt.Fprint(rw, `</urlset>`)
	case r.URL.Path == "/away":
		http.Redirect(rw, r, "https://evil.test/x", http.StatusFound)
	case !ok:
		http.NotFound(rw, r)
	default:
		rw.Header().Set("Content-Type", "text/html")
		_, _ = rw.Write([]byte(body))
	}
}

// site downloads from a host alone.
func (s *shopSite) site(host string) func(context.Context, string, int64) ([]byte, string, error) {
	return func(_ context.Context, address string, _ int64) ([]byte, string, error) {
		r := httptest.NewRequest(http.MethodGet, address, http.NoBody)
		if r.URL.Host != host {
			return nil, "", errElsewhere
		}
		rw := httptest.NewRecorder()
		s.ServeHTTP(rw, r)
		switch rw.Code {
		case http.StatusOK:
			return rw.Body.Bytes(), rw.Header().Get("Content-Type"), nil
		case http.StatusNotFound:
			return nil, "", chat.ErrNotFound
		}
		return nil, "", errElsewhere // a redirect to another host, or an error
	}
}

// change changes the site, and returns what it was asked for.
func (s *shopSite) change(down bool, hours string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down, s.pages["/hours"] = down, "# Hours\n"+hours
	return slices.Clone(s.asked)
}

// withShopSite runs the plugin's work on a site, in a bubble.
func withShopSite(t *testing.T, play func(k *knowledge, s *shopSite)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &shopSite{robots: "User-agent: other\nDisallow: /\n\nuser-agent: *\nDisallow: /private # not for all\nAllow: /private/open$\n",
			pages: map[string]string{"/hours": "# Hours\nWe open at ten.", "/private/a": "a secret", "/private/open": "# Dogs\nOnly guide dogs."}}
		k := newKnowledge(Options{Sitemaps: []string{"https://shop.test/index.xml"}, Site: s.site, Log: slog.New(slog.DiscardHandler),
			Extract: func(_ context.Context, page []byte) (string, error) { return string(page), nil }})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			k.work(ctx)
		}()
		time.Sleep(time.Minute)
		play(k, s)
		cancel()
		<-ended
	})
}

// told returns the sources that a prompt names.
func (k *knowledge) told(t *testing.T) string {
	t.Helper()
	r := require.Value(k.Provide(t.Context(), action.TurnContext{}))(t)
	return r.Text
}

// Of a sitemap the pages of its own host are read that robots.txt allows, each once, and again after a day. A site that is down keeps its
// pages, and is tried again within minutes. Answers name the page.
func TestSitemap(t *testing.T) {
	withShopSite(t, func(k *knowledge, s *shopSite) {
		text := k.told(t)
		for _, want := range []string{"From https://shop.test/hours, Hours:", "We open at ten.", "From https://shop.test/private/open, Dogs:"} {
			if !strings.Contains(text, want) {
				t.Errorf("the prompt lacks %q: %s", want, text)
			}
		}
		asked := s.change(false, "We open at nine.")
		if strings.Contains(text, "secret") || slices.Contains(asked, "/private/a") || slices.Contains(asked, "/x") {
			t.Errorf("asked for %q; the prompt is %s", asked, text)
		}
		time.Sleep(23 * time.Hour)
		if again := s.change(false, "We open at nine."); len(again) != len(asked) {
			t.Errorf("asked again for %q", again[len(asked):])
		}
		time.Sleep(2 * time.Hour)
		if text := k.told(t); !strings.Contains(text, "at nine") {
			t.Errorf("after a day the prompt is %s", text)
		}
		s.change(true, "We open at nine.")
		time.Sleep(25 * time.Hour)
		if text := k.told(t); !strings.Contains(text, "at nine") {
			t.Errorf("while the site is down the prompt is %s", text)
		}
		s.change(false, "We open at eight.")
		time.Sleep(11 * time.Minute)
		if text := k.told(t); !strings.Contains(text, "at eight") {
			t.Errorf("afterwards the prompt is %s", text)
		}
	})
}

func TestRobots(t *testing.T) {
	for body, want := range map[string]map[string]bool{
		"":                           {"/": true, "/a": true},
		"User-agent: *\nDisallow:":   {"/a": true},
		"User-agent: *\nDisallow: /": {"/": false, "/a": false},
		"User-agent: x\nUser-agent: *\nDisallow: /a\n":                 {"/a": false, "/abc?q": false, "/b": true},
		"User-agent: *\nDisallow: /a\nAllow: /a":                       {"/a": true},
		"User-agent: *\nDisallow: /*.pdf$":                             {"/x.pdf": false, "/x.pdf?1": true},
		"User-agent: *\nDisallow: /\nUser-agent: Parley\nDisallow: /b": {"/a": true, "/b": false},
		"Disallow: /\n\x00:\nUser-agent: *\nDisallow: /[(":             {"/a": true, "/[(": false},
	} {
		for path, is := range want {
			if got := allowed(robots(body), path); got != is {
				t.Errorf("%q allows %s: %v", body, path, got)
			}
		}
	}
}
