// Package web lets the agent search the web and read pages. Both only read, but the address of a page can carry what
// the model knows to the owner of that address: once a turn contains content that others wrote, only addresses that the
// user wrote or a search returned are read without an approval.
//
// Pages are fetched by internal/guard, which refuses addresses that are not on the public internet, checked after the
// name is resolved and for each redirect.
package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/text"
	"parley/internal/encoding"
	"parley/internal/guard"
)

// Options configure the plugin.
type Options struct {
	Fetch  bool
	Search Search
	// Available reports whether both can be used in a turn, by its room and its users; nil: always.
	Available func(action.TurnContext) bool
	Dial      func(ctx context.Context, network, address string) (net.Conn, error)
	Parser    Parser // nil: HTML pages can't be read

	get func(ctx context.Context, address string, limit int64) ([]byte, string, error) // tests
}

// New returns the plugin.
func New(o Options) action.Plugin {
	p := action.Plugin{Name: "web"}
	if o.Fetch {
		if o.get == nil {
			o.get = guard.New(guard.Options{Dial: o.Dial}).Get
		}
		p.Actions = append(p.Actions, fetch{o})
	}
	if o.Search.Provider != "" {
		p.Actions = append(p.Actions, newSearch(o))
	}
	return p
}

const (
	fetchName = "WEB_FETCH"
	maxPage   = 4 << 20 // bytes of a page
	maxText   = 20000   // characters of its text for the model
)

// fetch is WEB_FETCH.
type fetch struct{ o Options }

// Spec implements [action.Action].
func (fetch) Spec() action.Spec {
	return action.Spec{
		Name: fetchName, Similes: []string{"READ_URL", "FETCH_URL", "OPEN_URL", "BROWSE"},
		Description: "Read the text of a web page by its https address.",
		Parameters:  json.RawMessage(`{"type":"object","required":["url"],"properties":{"url":{"type":"string","maxLength":2000}}}`),
		Effect:      action.Reads, Limit: 45 * time.Second,
	}
}

// Available implements [action.Conditional].
func (f fetch) Available(s action.TurnContext) bool { return f.o.Available == nil || f.o.Available(s) }

// Guard implements [action.Guarded]. Parameters that can't be read need an approval too: nothing is fetched on a doubt.
func (fetch) Guard(c *action.Call) *action.Approval {
	var p struct{ URL string }
	if err := c.Read(&p); err != nil {
		return &action.Approval{Server: "web", Tool: "fetch"}
	}
	at, ok := plain(p.URL)
	if !ok || !c.ReadForeign() || slices.Contains(written(c.Parts()), at) || slices.Contains(returned(c.Earlier), at) {
		return nil
	}
	return &action.Approval{Server: "web", Tool: "fetch", Shown: at}
}

// plain returns an address in one spelling, so that addresses can be compared. ok is false for one that can't be read
// or contains credentials, and nothing is fetched then.
func plain(address string) (string, bool) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" || u.User != nil {
		return "", false
	}
	u.Scheme, u.Host, u.Fragment, u.RawFragment = strings.ToLower(u.Scheme), strings.ToLower(u.Host), "", ""
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String(), true
}

var addresses = regexp.MustCompile(`(?i)\b(https?://)?[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]{2,}(:\d+)?([/?][^\s<>"'` + "`" + `]*)?`)

// written returns the addresses in the words of the operator and of the user who is answered, also those without a scheme
// and with punctuation behind them.
func written(parts []action.Part) (all []string) {
	for _, p := range parts {
		if p.Origin != action.FromAsker && p.Origin != action.FromOperator {
			continue
		}
		for _, found := range addresses.FindAllString(p.Text, -1) {
			if !strings.Contains(found, "://") {
				found = "https://" + found
			}
			for _, spelling := range []string{found, strings.TrimRight(found, ".,;:!?)]}")} {
				if at, ok := plain(spelling); ok {
					all = append(all, at)
				}
			}
		}
	}
	return all
}

// returned returns the addresses that searches of this turn have found. It reads their results as the model did; each
// value there is in one line, so that no title can pass for an address.
func returned(earlier []action.Acted) (all []string) {
	for _, a := range earlier {
		if a.Action != searchName || a.Err != "" {
			continue
		}
		for line := range strings.Lines(a.Result.Text) {
			if found, ok := strings.CutPrefix(strings.TrimSpace(line), urlLabel); ok {
				if at, ok := plain(found); ok {
					all = append(all, at)
				}
			}
		}
	}
	return all
}

// Act implements [action.Action].
func (f fetch) Act(ctx context.Context, c *action.Call) (action.Result, error) {
	var p struct{ URL string }
	if err := c.Read(&p); err != nil {
		return action.Result{}, err
	}
	at, ok := plain(p.URL)
	if !ok {
		return action.Result{}, errors.New("this is not an address of a web page")
	}
	u, _ := url.Parse(at)
	// Users see only the host, because a path can be long.
	c.Short("Reading " + u.Hostname())
	data, mime, err := f.o.get(ctx, at, maxPage)
	switch {
	case errors.Is(err, guard.ErrForbidden):
		return action.Result{}, fmt.Errorf("the page can't be read: %w; only https pages on the public internet can", err)
	case err != nil:
		return action.Result{}, fmt.Errorf("the page can't be read: %w", err)
	}
	kind, _, _ := strings.Cut(mime, ";")
	switch kind = strings.ToLower(strings.TrimSpace(kind)); {
	case isPage(kind):
		title, body, err := read(ctx, f.o.Parser, data, mime)
		switch {
		case err != nil:
			return action.Result{}, err
		case body == "":
			return action.Result{}, errors.New("the page has no text; it may need a browser")
		}
		return action.Result{Text: text.Excerpt(text.Clean(strings.TrimSpace(title+"\n\n"+body)), maxText), Short: text.Label(title)}, nil
	case strings.HasPrefix(kind, "text/"), kind == "application/json", kind == "application/xml":
		whole, known := encoding.Stated(data, mime)
		if !known {
			return action.Result{}, errors.New("the page can't be read: its encoding is unknown")
		}
		return action.Result{Text: text.Excerpt(text.Clean(whole), maxText)}, nil
	}
	return action.Result{}, fmt.Errorf("the page is a file of the type %s, which can't be read", text.Label(kind))
}
