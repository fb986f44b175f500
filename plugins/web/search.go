package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"parley/core/action"
	"parley/core/text"
	"parley/internal/redact"
)

// Search is the configuration of a search service.
type Search struct {
	Provider string // searxng, brave or tavily; empty: off
	URL      string // of the owner's server; empty: that of the service
	Key      string
}

const (
	searchName  = "WEB_SEARCH"
	urlLabel    = "URL: "
	maxHits     = 8
	maxSnippet  = 400     // characters
	maxResponse = 2 << 20 // bytes
)

// search is WEB_SEARCH.
type search struct {
	o    Options
	http *http.Client
}

// newSearch returns the action. The key is sent to one server: redirects to another one are refused.
func newSearch(o Options) search {
	transport := &http.Transport{DialContext: o.Dial, MaxResponseHeaderBytes: 64 << 10, TLSHandshakeTimeout: 10 * time.Second, DisableKeepAlives: true, DisableCompression: true}
	if o.Dial == nil {
		transport.Proxy = http.ProxyFromEnvironment
	}
	return search{o, &http.Client{Transport: transport, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if r.URL.Scheme != via[0].URL.Scheme || r.URL.Host != via[0].URL.Host || len(via) > 3 { // the key is for no one else
			return errors.New("it redirects to another server")
		}
		return nil
	}}}
}

// Spec implements [action.Action].
func (search) Spec() action.Spec {
	return action.Spec{
		Name: searchName, Similes: []string{"SEARCH_WEB", "SEARCH"},
		Description: "Search the web. The results are titles, addresses and excerpts; read a page for more.",
		Parameters:  json.RawMessage(`{"type":"object","required":["query"],"properties":{"query":{"type":"string","maxLength":400}}}`),
		Effect:      action.Reads, Limit: 30 * time.Second,
	}
}

// Available implements [action.Conditional].
func (s search) Available(c action.TurnContext) bool {
	return s.o.Available == nil || s.o.Available(c)
}

// hit is a result, with the fields of all providers.
type hit struct {
	Title, URL, Content, Description string
}

// Act implements [action.Action].
func (s search) Act(ctx context.Context, c *action.Call) (action.Result, error) {
	var p struct{ Query string }
	if err := c.Read(&p); err != nil {
		return action.Result{}, err
	}
	hits, err := s.ask(ctx, p.Query)
	if err != nil {
		for outer := (*url.Error)(nil); errors.As(err, &outer); { // its address can hold the query and more
			err = outer.Err
		}
		return action.Result{}, fmt.Errorf("the search failed: %w", redact.New(s.o.Search.Key).Error(err))
	}
	var b strings.Builder
	for _, h := range hits[:min(len(hits), maxHits)] {
		if at, ok := plain(h.URL); ok { // each value in one line: none can pass for an address
			fmt.Fprintf(&b, "Title: %s\n%s%s\nText: %s\n\n", text.OneLine(text.Visible(h.Title), 200), urlLabel, text.OneLine(at, 2000),
				text.OneLine(text.Visible(cmp.Or(h.Content, h.Description)), maxSnippet))
		}
	}
	if b.Len() == 0 {
		return action.Result{Text: "Nothing was found."}, nil
	}
	return action.Result{Text: strings.TrimSpace(b.String()), Short: fmt.Sprintf("%d results", min(len(hits), maxHits))}, nil
}

// ask sends the query, and reads the response, which has a bound. Its errors contain neither the query nor the key.
func (s search) ask(ctx context.Context, query string) ([]hit, error) {
	r, err := s.request(ctx, query)
	if err != nil {
		return nil, errors.New("the address of the search service can't be read")
	}
	res, err := s.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the service answered %d", res.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxResponse+1))
	if err != nil || len(data) > maxResponse {
		return nil, cmp.Or(err, errors.New("the response is too large"))
	}
	var found struct {
		Results []hit
		Web     struct{ Results []hit }
	}
	if err := json.Unmarshal(data, &found); err != nil {
		return nil, errors.New("the service did not answer with JSON")
	}
	return append(found.Results, found.Web.Results...), nil
}

// request returns the request of the provider; SearXNG's is the default.
func (s search) request(ctx context.Context, query string) (*http.Request, error) {
	base := strings.TrimSuffix(s.o.Search.URL, "/")
	switch s.o.Search.Provider {
	case "tavily":
		body, _ := json.Marshal(map[string]any{"query": query, "max_results": maxHits})
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, cmp.Or(base, "https://api.tavily.com")+"/search", bytes.NewReader(body))
		if err == nil {
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+s.o.Search.Key)
		}
		return r, err
	case "brave":
		r, err := http.NewRequestWithContext(ctx, http.MethodGet,
			cmp.Or(base, "https://api.search.brave.com")+"/res/v1/web/search?count=8&q="+url.QueryEscape(query), nil)
		if err == nil {
			r.Header.Set("Accept", "application/json")
			r.Header.Set("X-Subscription-Token", s.o.Search.Key)
		}
		return r, err
	}
	return http.NewRequestWithContext(ctx, http.MethodGet, base+"/search?format=json&q="+url.QueryEscape(query), nil)
}
