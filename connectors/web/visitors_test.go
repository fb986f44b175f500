package web

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/require"
)

// public is a listener at an address that other machines reach.
type public struct{ net.Listener }

// Addr implements net.Listener.
func (public) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(203, 0, 113, 5), Port: 8080} }

// shop is a store whose conversation has one answer, with a call that was stored by this version, one by an earlier
// version, and a hidden one with a file.
type shop struct{ rooms }

func (shop) Recent(_ context.Context, room chat.RoomID, kind chat.MemoryKind, _ chat.ResponseID, _ int) ([]chat.Memory, error) {
	if kind != chat.Said {
		return nil, nil
	}
	calls := []answer.PastCall{{ID: "1", Tool: orderEnded}, {ID: "2", Tool: answer.Tool{
		Name: "SHOP_STOCK", Stage: answer.StageEnd, Parameters: "SECRET-ARGUMENT", CompactParams: "SECRET-ARGUMENT", Result: "SECRET-RESULT", Success: true,
	}}, {ID: "3", Tool: creditHidden, Files: []llm.PastFile{{Name: "list.csv", Type: "text/csv", Size: 1}}}}
	return []chat.Memory{{ID: "web/c#1", Room: room, Author: "agent", Text: "It is on its way.", Calls: calls}}, nil
}

var (
	orderStarted = answer.Tool{Name: "SHOP_ORDER_GET", Label: "Order status", Stage: answer.StageStart}
	orderRunning = answer.Tool{Name: "SHOP_ORDER_GET", Label: "Order status", Stage: answer.StageRunning, Parameters: `{"order":"SECRET-ARGUMENT"}`,
		CompactParams: "SECRET-ARGUMENT", ShortResult: "asking the warehouse"}
	orderEnded = answer.Tool{Name: "SHOP_ORDER_GET", Label: "Order status", Stage: answer.StageEnd, Parameters: `{"order":"SECRET-ARGUMENT"}`,
		CompactParams: "SECRET-ARGUMENT", Result: `{"margin":"SECRET-RESULT"}`, ShortResult: "on its way", Success: true}
	creditHidden = answer.Tool{Name: "CHECK_CREDIT", Label: "Credit check", Hidden: true, Stage: answer.StageEnd, Parameters: "SECRET-ARGUMENT", Result: "SECRET-RESULT", Success: true}
)

// order writes an answer with calls.
func order(a *answer.Answer) {
	tool := func(call string, t answer.Tool) {
		a.Apply(answer.Change{Kind: answer.ToolStage, Call: call, Tool: &t})
	}
	tool("1", orderStarted)
	tool("1", answer.Tool{Name: "SHOP_ORDER_GET", Label: "Order status", Stage: answer.StageStreaming, ParametersChunk: `{"order":"SECRET-ARGUMENT"}`, CompactParams: "SECRET-ARGUMENT"})
	tool("1", orderRunning)
	tool("3", answer.Tool{Name: "CHECK_CREDIT", Label: "Credit check", Hidden: true, Stage: answer.StageRunning, Parameters: "SECRET-ARGUMENT"})
	a.Apply(answer.Change{Kind: answer.Callback, Call: "1", Text: "Looking into the warehouse…"})
	a.Apply(answer.Change{Kind: answer.Callback, Call: "3", Files: []llm.File{{Name: "list.csv", Type: "text/csv", Data: []byte("a")}}})
	a.Apply(answer.Change{Kind: answer.Text, Text: "It is on its way."})
}

// everything returns what one reader is sent by all routes that tell of an answer: its stream, live and joined later, in both
// protocols, the stream of a choice, and the conversation.
func everything(t *testing.T, client *http.Client, a *answer.Answer) string {
	t.Helper()
	const room = "/api/conversations/c"
	live := make(chan string)
	go func() {
		resp, err := client.Post("http://127.0.0.1:8080"+room+"/messages/stream", "application/json", strings.NewReader(`{"text":"Where is it?"}`))
		if err != nil {
			live <- err.Error()
			return
		}
		defer resp.Body.Close()
		all, _ := io.ReadAll(resp.Body)
		live <- string(all)
	}()
	synctest.Wait()
	order(a)
	synctest.Wait()
	a.Apply(answer.Change{Kind: answer.ToolStage, Call: "1", Tool: &orderEnded})
	a.Apply(answer.Change{Kind: answer.ToolStage, Call: "3", Tool: &creditHidden})
	a.Apply(answer.Change{Kind: answer.ToolStage, Call: "4", Tool: &answer.Tool{Name: "SHOP_STOCK", Stage: answer.StageEnd, Error: "SECRET-RESULT at /srv/shop.py", Detail: true}})
	a.End(answer.Outcome{Status: answer.Completed, Usage: &llm.UsageSum{
		Calls: 2, Prompt: 90, Cached: 40, Completion: 10, Provider: "openai", Model: "SECRET-MODEL", Estimated: true,
	}})
	all := <-live
	for path, body := range map[string]string{
		"/messages/stream": `{"text":"Where is it?","clientMessageId":"known"}`,
		"/choices/stream":  `{"id":"q","option":0}`,
	} {
		_, said := post(t, client, room+path, body)
		all += said
	}
	_, said := post(t, client, room+"/messages/stream", `{"text":"Where is it?","clientMessageId":"known","streamProtocol":"legacy"}`)
	resp := require.Value(client.Get("http://127.0.0.1:8080" + room + "/messages"))(t)
	defer resp.Body.Close()
	stored := require.Value(io.ReadAll(resp.Body))(t)
	return all + said + string(stored)
}

// told is what those who see details are told of the answer that everything writes.
const told = `"usage":{"promptTokens":90,"completionTokens":10,"totalTokens":100,"model":"SECRET-MODEL","provider":"openai","isEstimated":true,"llmCalls":2,"cachedTokens":40}`

// SE-23: on a page that others can reach, visitors see labels and what actions say, by no route more. On a gateway for its own
// machine everyone sees everything, but not what a proxy passes on.
func TestVisitorsSeeLabels(t *testing.T) {
	for name, c := range map[string]struct {
		edit      func(*Options)
		forwarded bool
		all       bool
	}{
		"a gateway on loopback":             {all: true},
		"an address that others reach":      {edit: func(o *Options) { o.Listener = public{o.Listener} }},
		"web.public":                        {edit: func(o *Options) { o.Public = true }},
		"a trusted proxy on the machine":    {edit: func(o *Options) { o.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")} }},
		"a site that shows the chat":        {edit: func(o *Options) { o.Origins = []string{"https://shop.example"} }},
		"a page of the same machine":        {edit: func(o *Options) { o.Origins = []string{"http://localhost:3000"} }, all: true},
		"a proxy that is not known as such": {forwarded: true},
	} {
		t.Run(name, func(t *testing.T) {
			edit := func(o *Options) {
				o.Store = shop{rooms{Uploads: keptUploads()}}
				if c.edit != nil {
					c.edit(o)
				}
			}
			serve(t, edit, accept, func(client *http.Client, a *answer.Answer) {
				if c.forwarded {
					client.Transport = forwarding{client.Transport}
				}
				got := everything(t, client, a)
				for _, secret := range []string{"SECRET-ARGUMENT", "SECRET-RESULT", "SHOP_ORDER_GET", "SHOP_STOCK", "CHECK_CREDIT", told} {
					if strings.Contains(got, secret) != c.all {
						t.Errorf("%q is sent: %v\n%s", secret, !c.all, got)
					}
				}
				for _, public := range []string{"Order status", "asking the warehouse", "on its way", "Looking into the warehouse…", "list.csv"} {
					if !strings.Contains(got, public) {
						t.Errorf("%q is missing in %s", public, got)
					}
				}
				if !c.all && strings.Contains(got, "usage") {
					t.Errorf("the usage is sent: %s", got)
				}
				if !c.all && (strings.Contains(got, "Credit check") || !strings.Contains(got, "Shop stock")) {
					t.Errorf("a hidden call is shown, or one of an earlier version has no label: %s", got)
				}
			})
		})
	}
}

// A site can tell the visitor's name. It is one line of limited length, and changes nothing of whose message it is.
func TestNamesOfVisitors(t *testing.T) {
	const long = "at most 64 characters"
	for body, want := range map[string]string{
		`{"text":"Hi"}`:                                            "",
		`{"text":"Hi","name":null}`:                                "",
		`{"text":"Hi","name":"Ada"}`:                               "Ada",
		`{"text":"Hi","name":" A\nd\u0000a\u202e\t: "}`:            "A da :",
		`{"text":"Hi","name":"web/owner"}`:                         "web/owner",
		`{"text":"Hi","name":"` + strings.Repeat("é", 64) + `"}`:   strings.Repeat("é", 64),
		`{"text":"Hi","name":"` + strings.Repeat("é", 5000) + `"}`: long,
	} {
		var got chat.Message
		serve(t, nil, func(in chat.Inbound) (chat.Accepted, error) {
			got, _ = in.(chat.Message)
			return chat.Accepted{}, nil
		}, func(client *http.Client, _ *answer.Answer) {
			resp, said := post(t, client, "/api/conversations/c/messages/stream", body)
			if n := utf8.RuneCountInString(got.Name); want == long && n > 50 && n <= 64 {
				want = got.Name
			}
			if resp.StatusCode != http.StatusOK || got.Name != want || got.Author != "web/c" || len(got.Roles) > 0 {
				t.Errorf("%s: %q of %s, %d %s", body, got.Name, got.Author, resp.StatusCode, said)
			}
		})
	}
	for _, body := range []string{`{"text":"Hi","name":7}`, `{"text":"Hi","name":{"is":"Ada"}}`} {
		serve(t, nil, accept, func(client *http.Client, _ *answer.Answer) {
			if resp, said := post(t, client, "/api/conversations/c/messages/stream", body); resp.StatusCode != http.StatusBadRequest || !strings.Contains(said, "name must be a string.") {
				t.Errorf("%s: %d %s", body, resp.StatusCode, said)
			}
		})
	}
}

// forwarding sends requests as a proxy does.
type forwarding struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (f forwarding) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Forwarded-For", "198.51.100.7")
	return f.RoundTripper.RoundTrip(r)
}
