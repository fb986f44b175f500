package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core/action"
	"parley/core/action/actiontest"
	"parley/internal/require"
	"parley/internal/schema"
)

// An approval for all calls of a tool is valid for one definition: a change of the name, the description, the schema or the
// effect makes another one, and nothing else does.
func TestKindOfDefinition(t *testing.T) {
	yes := true
	kind := func(edit func(*Server, *sdk.Tool)) string {
		s := Server{Name: "shop"}
		of := &sdk.Tool{Name: "order", Description: "Orders.", InputSchema: json.RawMessage(anyObject)}
		edit(&s, of)
		made, problem := newClient(s, Options{Log: slog.New(slog.DiscardHandler)}).newTool(of)
		if made == nil {
			t.Fatal(problem)
		}
		return made.kind
	}
	same := kind(func(*Server, *sdk.Tool) {})
	seen := map[string]string{same: "the first"}
	for name, edit := range map[string]func(*Server, *sdk.Tool){
		"the server":           func(s *Server, _ *sdk.Tool) { s.Name = "shop2" },
		"the name":             func(_ *Server, of *sdk.Tool) { of.Name = "order2" },
		"the description":      func(_ *Server, of *sdk.Tool) { of.Description += " And pays." },
		"its invisible end":    func(_ *Server, of *sdk.Tool) { of.Description += "\u200b" },
		"its end beyond a cut": func(_ *Server, of *sdk.Tool) { of.Description += strings.Repeat("x", maxDescription) + "y" },
		"the schema":           func(_ *Server, of *sdk.Tool) { of.InputSchema = json.RawMessage(`{"type":"object"}`) },
		"the effect":           func(_ *Server, of *sdk.Tool) { of.Annotations = &sdk.ToolAnnotations{DestructiveHint: &yes} },
		"its configuration":    func(s *Server, _ *sdk.Tool) { s.Read = []string{"order"} },
	} {
		k := kind(edit)
		if other, known := seen[k]; known {
			t.Errorf("a change of %s has the kind of %s", name, other)
		}
		seen[k] = name
	}
	for name, edit := range map[string]func(*Server, *sdk.Tool){
		"the title":   func(_ *Server, of *sdk.Tool) { of.Title = "Order" },
		"the headers": func(s *Server, _ *sdk.Tool) { s.Headers = map[string]string{"X": "y"} },
		"a denial":    func(s *Server, _ *sdk.Tool) { s.Deny = []string{"wipe"} },
	} {
		if kind(edit) != same {
			t.Errorf("%s changes the kind", name)
		}
	}
}

// A server that replaces a tool after it was offered is not called with what was meant for the earlier one. A schema that
// can't be used costs that tool alone.
func TestChangedTool(t *testing.T) {
	called := 0
	var mu sync.Mutex
	server := sdk.NewServer(&sdk.Implementation{Name: "shop", Version: "1"}, nil)
	add := func(name, input string) {
		server.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(input)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			mu.Lock()
			defer mu.Unlock()
			called++
			return text1(name), nil
		})
	}
	add("order", anyObject)
	add("list", anyObject)
	add("torn", `{"type":"object","properties":{"a":{"$ref":"#/nowhere"}}}`)
	add("odd", `{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}`)
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	defer web.Close()
	p := New(Options{Servers: []Server{{Name: "shop", URL: web.URL}}})
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { p.Work(ctx) })
	defer func() { cancel(); work.Wait() }()
	before := named(t, p, "shop__order")
	fixed := require.Value(action.NewToolbox([]action.Plugin{p}, schema.Compile))(t)
	box := action.NewLiveToolbox(&fixed, []action.Plugin{p}, schema.Compile, slog.New(slog.DiscardHandler)).Now()
	for name, usable := range map[string]bool{"shop__order": true, "shop__list": true, "shop__torn": false, "shop__odd": false} {
		if (box.Find(name) != nil) != usable {
			t.Errorf("%s can be used: %v", name, !usable)
		}
	}
	add("order", `{"type":"object","properties":{"text":{"type":"string"},"everything":{"type":"boolean"}}}`)
	until(t, "the tool is another one", func() bool { now := find(p, "shop__order"); return now != nil && now != before })
	if r := actiontest.Make(t, before, actiontest.Call{Parameters: `{"text":"tea"}`}); r.Err == nil || !strings.Contains(r.Err.Error(), "has changed this tool") {
		t.Errorf("the earlier one: %q, %v", r.Text, r.Err)
	}
	mu.Lock()
	defer mu.Unlock()
	if called > 0 {
		t.Error("the server was called; want no call")
	}
}
