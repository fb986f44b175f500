package knowledge

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"parley/core/chat"
	"parley/core/text"
)

const (
	siteEvery   = 24 * time.Hour
	siteAgain   = 10 * time.Minute // after a failure
	siteTime    = 10 * time.Minute
	pagePause   = 200 * time.Millisecond // between two requests to a site
	maxSitemaps = 10                     // of an index
	maxSitemap  = 5 << 20                // bytes
	maxPages    = 500                    // of a site
	maxPage     = 2 << 20                // bytes of a page
	maxSiteText = 4 << 20                // bytes of the texts of a site
)

// sites are the pages of sitemaps. Only the plugin's work uses it.
type sites struct {
	next    time.Time             // of the next reading
	pages   map[string][]Document // by the sitemap
	version int
}

// documents returns all pages.
func (s sites) documents() (all []Document) {
	for _, address := range slices.Sorted(maps.Keys(s.pages)) {
		all = append(all, s.pages[address]...)
	}
	return all
}

// visit reads the sites again if that is due, and reports whether it did. The pages of a site that can't be read stay.
func (k *knowledge) visit(ctx context.Context) bool {
	if len(k.Sitemaps) == 0 || time.Now().Before(k.sites.next) {
		return false
	}
	pages, pause := map[string][]Document{}, siteEvery
	for _, address := range k.Sitemaps {
		documents, err := k.readSite(ctx, address)
		if err != nil && ctx.Err() == nil {
			k.Log.Warn("a site of agent.knowledge can't be read; its earlier pages stay", "sitemap", address, "err", err)
			documents, pause = k.sites.pages[address], siteAgain
		}
		pages[address] = documents
	}
	if ctx.Err() != nil {
		return false
	}
	k.sites = sites{time.Now().Add(pause), pages, k.sites.version + 1}
	return true
}

// readSite returns the pages of a sitemap that are on its own host and that robots.txt allows. Pages that can't be read are left out.
func (k *knowledge) readSite(ctx context.Context, address string) (all []Document, err error) {
	ctx, cancel := context.WithTimeout(ctx, siteTime)
	defer cancel()
	home, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	s := site{home, k.Site(strings.ToLower(home.Hostname())), nil}
	body, _, err := s.get(ctx, home.Scheme+"://"+home.Host+"/robots.txt", maxPage)
	if err != nil && !errors.Is(err, chat.ErrNotFound) {
		return nil, fmt.Errorf("read robots.txt: %w", err)
	}
	s.rules = robots(string(body))
	listed, err := s.listed(ctx, address)
	if err != nil {
		return nil, err
	}
	size, left := 0, 0
	for _, page := range listed {
		text := k.page(ctx, s, page)
		if text == "" || size+len(text) > maxSiteText {
			left++
			continue
		}
		size += len(text)
		all = append(all, Document{Name: page, Text: text})
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	k.Log.Info("a site was read", "sitemap", address, "pages", len(all), "left_out", left)
	return all, nil
}

// page returns the text of a page, or "".
func (k *knowledge) page(ctx context.Context, s site, address string) string {
	select {
	case <-time.After(pagePause):
	case <-ctx.Done():
		return ""
	}
	body, kind, err := s.get(ctx, address, maxPage)
	switch {
	case err != nil:
		return ""
	case strings.HasPrefix(kind, "text/plain"), strings.HasPrefix(kind, "text/markdown"):
		return text.Clean(string(body))
	}
	found, err := k.extract(ctx, body)
	if err != nil {
		return ""
	}
	return found
}

// site is a site that is being read.
type site struct {
	home  *url.URL
	get   func(ctx context.Context, address string, limit int64) (data []byte, mime string, err error)
	rules []rule
}

// listed returns the allowed addresses of a sitemap, or of those in an index, each once.
func (s site) listed(ctx context.Context, address string) (pages []string, err error) {
	queue, seen := []string{address}, map[string]bool{}
	for n := 0; n < len(queue) && n < maxSitemaps && len(pages) < maxPages; n++ {
		body, _, err := s.get(ctx, queue[n], maxSitemap)
		if err != nil {
			return nil, fmt.Errorf("read the sitemap: %w", err)
		}
		var found struct {
			Pages []string `xml:"url>loc"`
			Maps  []string `xml:"sitemap>loc"`
		}
		if err := xml.Unmarshal(body, &found); err != nil {
			return nil, fmt.Errorf("read the sitemap: %w", err)
		}
		for _, m := range found.Maps {
			if m = strings.TrimSpace(m); s.own(m) {
				queue = append(queue, m)
			}
		}
		for _, p := range found.Pages {
			if p = strings.TrimSpace(p); s.own(p) && !seen[p] && len(pages) < maxPages {
				seen[p] = true
				pages = append(pages, p)
			}
		}
	}
	return pages, nil
}

// own reports whether an address is on the site itself, and allowed.
func (s site) own(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == s.home.Scheme && strings.EqualFold(u.Host, s.home.Host) && u.User == nil && allowed(s.rules, u.RequestURI())
}

// rule is a line of robots.txt.
type rule struct {
	allow   bool
	length  int
	pattern *regexp.Regexp
}

// robots returns the rules for all programs, or those that name this one.
func robots(body string) (rules []rule) {
	var all, own []rule
	agents, open := []string{}, false
	for line := range strings.Lines(body) {
		line, _, _ = strings.Cut(line, "#")
		name, value, _ := strings.Cut(line, ":")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		switch name {
		case "user-agent":
			if !open {
				agents = nil
			}
			agents, open = append(agents, strings.ToLower(value)), true
		case "allow", "disallow":
			open = false
			if value == "" {
				continue
			}
			pattern := strings.ReplaceAll(regexp.QuoteMeta(value), `\*`, `.*`)
			if end, ok := strings.CutSuffix(pattern, `\$`); ok {
				pattern = end + "$"
			}
			r := rule{name == "allow", len(value), regexp.MustCompile("^" + pattern)} // the quoted text always compiles
			if slices.Contains(agents, "*") {
				all = append(all, r)
			}
			if slices.Contains(agents, "parley") {
				own = append(own, r)
			}
		}
	}
	if len(own) > 0 {
		return own
	}
	return all
}

// allowed reports whether rules allow a path: the longest pattern that matches counts, and of two the one that allows.
func allowed(rules []rule, path string) bool {
	best := rule{allow: true}
	for _, r := range rules {
		if r.pattern.MatchString(path) && (r.length > best.length || r.length == best.length && r.allow) {
			best = r
		}
	}
	return best.allow
}
