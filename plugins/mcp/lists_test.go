package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"parley/core/action"
	"parley/core/action/actiontest"
	"parley/sim"
)

// lister is a server with one tool, resource and prompt, whose lists are odd in one way. It counts its pages in FAKE_MARK.
func lister(kind string) {
	in := bufio.NewScanner(os.Stdin)
	asked := 0
	for in.Scan() {
		var r struct {
			ID     json.RawMessage
			Method string
			Params struct{ Cursor string }
		}
		if json.Unmarshal(in.Bytes(), &r) != nil || r.ID == nil {
			continue
		}
		stray(kind)
		var result any
		switch r.Method {
		case "initialize":
			result = map[string]any{"protocolVersion": "2025-06-18", "serverInfo": map[string]string{"name": "odd", "version": "1"},
				"capabilities": map[string]any{"tools": map[string]any{}, "resources": map[string]any{}, "prompts": map[string]any{}}}
		case "tools/list", "resources/list", "prompts/list":
			asked++
			_ = os.WriteFile(os.Getenv("FAKE_MARK"), fmt.Append(nil, asked), 0o600)
			page := oddPage(kind, r.Params.Cursor, asked)
			if page == nil {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"invalid cursor of %s"}}`+"\n", r.ID, os.Getenv("FAKE_TOKEN"))
				continue
			}
			result = page
		case "tools/call":
			result = map[string]any{"content": []any{map[string]string{"type": "text", "text": "called"}}}
		}
		answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": r.ID, "result": result})
		fmt.Println(string(answer))
	}
}

// stray writes output that is not a message.
func stray(kind string) {
	switch kind {
	case "chatty":
		fmt.Println("Listening… with " + os.Getenv("FAKE_TOKEN"))
		fmt.Println(`{"level":"info","msg":"a request"}`)
		fmt.Println()
	case "noisy":
		for range 2 * maxStrays {
			fmt.Println("noise")
		}
	}
}

// oddPage returns a page of a list, or nil if there is none at that cursor.
func oddPage(kind, cursor string, asked int) map[string]any {
	tools := []any{map[string]any{"name": "one", "inputSchema": map[string]any{"type": "object"}}}
	next := ""
	switch kind {
	case "stuck":
		next = "again"
	case "alternating":
		if next = "a"; cursor == "a" {
			next = "b"
		}
	case "endless":
		next = fmt.Sprint("page ", asked)
	case "empty":
		if next = fmt.Sprint("page ", asked); cursor != "" {
			tools = []any{}
		}
	case "broken off":
		if next = "more"; cursor != "" {
			return nil
		}
	case "nameless":
		next = fmt.Sprint("page ", asked)
		for n := range 50 {
			tools = append(tools, map[string]any{"name": "", "description": fmt.Sprint(n), "inputSchema": map[string]any{"type": "object"}})
		}
	}
	return map[string]any{
		"tools": tools, "resources": []any{map[string]any{"uri": "memo://one", "name": "one"}}, "prompts": []any{map[string]any{"name": "one"}}, "nextCursor": next,
	}
}

// LM-19: a server whose lists have no end, or break off, is asked a few times, and the listed items are used. Both the log
// and the check report the oddity, and the log reports it once.
func TestOddLists(t *testing.T) {
	for kind, want := range map[string]struct {
		says  string
		pages int // at most, of all three lists
	}{
		"stuck":       {"tools: the cursor of the list does not advance", 6},
		"alternating": {"prompts: the cursor of the list does not advance", 9},
		"endless":     {"resources: the pages of the list have nothing new", 12},
		"empty":       {"tools: the pages of the list have nothing new", 12},
		"broken off":  {"tools: the list broke off", 6},
		"nameless":    {`the tool "" is left out: it has no name`, 12},
	} {
		t.Run(kind, func(t *testing.T) {
			log := &sim.Log{}
			s := fake(t, kind)
			s.Env["FAKE_MARK"], s.Env["FAKE_TOKEN"] = t.TempDir()+"/pages", "s3cr3t-token-of-the-server"
			o := Options{Servers: []Server{s}, Log: slog.New(slog.NewTextHandler(log, nil))}
			p := started(t, o)
			if r := actiontest.Make(t, named(t, p, "fake__one"), actiontest.Call{}); r.Text != "called" {
				t.Errorf(`%q, %v; want "called"`, r.Text, r.Err)
			}
			c := p.Providers[0].(provider).p.clients[0]
			if v := c.view(); len(v.tools) != 1 || len(v.resources) != 1 || len(v.prompts) != 1 {
				t.Errorf("%d tools, %d resources, %d prompts", len(v.tools), len(v.resources), len(v.prompts))
			}
			var pages int
			if n, err := fmt.Sscan(string(must(os.ReadFile(s.Env["FAKE_MARK"]))), &pages); n != 1 || err != nil || pages > want.pages {
				t.Errorf("%d pages, %v", pages, err)
			}
			c.signal(c.changed) // it lists the same once more
			until(t, "it is asked again", func() bool {
				var again int
				_, _ = fmt.Sscan(string(must(os.ReadFile(s.Env["FAKE_MARK"]))), &again)
				return again >= 2*pages
			})
			if said := log.String(); strings.Count(said, "lists something odd") != 1 || !strings.Contains(strings.ReplaceAll(said, `\"`, `"`), want.says) || strings.Contains(said, "s3cr3t") {
				t.Errorf("the log says %s", said)
			}
			line, specs, err := Check(t.Context(), s, Options{}, nil)
			if err != nil || !strings.Contains(line, "1 tools: one (write)") || !strings.Contains(line, want.says) || len(specs) != 1 || strings.Contains(line, "s3cr3t") {
				t.Errorf("the check says %q, %v", line, err)
			}
		})
	}
}

func must(data []byte, _ error) []byte { return data }

// A list that hangs after its first page is used as far as it came.
func TestListThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []int
		odd, err := pages(t.Context(), func(ctx context.Context, cursor string) ([]int, string, error) {
			if cursor == "" {
				return []int{1}, "more", nil
			}
			<-ctx.Done()
			return nil, "", context.Cause(ctx)
		}, func(n int) (fresh, more bool) { got = append(got, n); return true, true })
		if odd != "the list broke off: it took too long" || err != nil || len(got) != 1 {
			t.Errorf(`%q, %v, %v; want "the list broke off: it took too long" and 1`, odd, err, got)
		}
	})
}

// A list is not read further than its bound, whatever is new in it.
func TestListWithoutEnd(t *testing.T) {
	n := 0
	odd, err := pages(t.Context(), func(context.Context, string) ([]int, string, error) { n++; return []int{n}, fmt.Sprint(n), nil }, func(int) (fresh, more bool) { return true, true })
	if odd != fmt.Sprintf("the list has more than %d pages", maxPages) || err != nil || n != maxPages {
		t.Errorf("%q, %v after %d pages", odd, err, n)
	}
}

// LM-19: lines of the standard output that are no messages are skipped and named, without secrets; a server that writes little
// else is not connected.
func TestStrayLines(t *testing.T) {
	log := &sim.Log{}
	s := fake(t, "chatty")
	p := started(t, Options{Servers: []Server{s}, Log: slog.New(slog.NewTextHandler(log, nil))})
	for range 3 {
		if r := actiontest.Make(t, named(t, p, "fake__one"), actiontest.Call{}); r.Text != "called" {
			t.Errorf(`%q, %v; want "called"`, r.Text, r.Err)
		}
	}
	if said := log.String(); strings.Count(said, "no messages; they are skipped") != 1 || !strings.Contains(said, "Listening… with ***") || strings.Contains(said, "s3cr3t") {
		t.Errorf("the log says %s", said)
	}
	if line, _, err := Check(t.Context(), s, Options{}, nil); err != nil || !strings.Contains(line, "no messages, such as") || strings.Contains(line, "s3cr3t") {
		t.Errorf(`the check says %q, %v; want it to contain "no messages, such as" and it without "s3cr3t"`, line, err)
	}
	if line, _, err := Check(t.Context(), fake(t, "noisy"), Options{}, nil); err == nil {
		t.Errorf("a server of noise is %q", line)
	}
	if find(p, "fake__one").(action.Conditional).Available(action.TurnContext{}) != true {
		t.Error("the tool is not available; want true")
	}
}

// Only messages are read, however the output is cut into pieces.
func FuzzMessages(f *testing.F) {
	f.Add("hello\n{\"jsonrpc\":\"2.0\",\"id\":1}\n\n[{\"jsonrpc\":\"2.0\"}]\r\nbye")
	f.Fuzz(func(t *testing.T, out string) {
		found := 0
		m := newMessages(io.NopCloser(strings.NewReader(out)), func(string) { found++ })
		got, err := io.ReadAll(m)
		for line := range bytes.Lines(got) {
			if !isMessage(line) {
				t.Errorf("%q is read", line)
			}
		}
		if lines := strings.Count(out, "\n"); found > 1 || err != nil && lines <= maxStrays && len(out) <= maxStrayBytes {
			t.Errorf("%d are named, %v", found, err)
		}
	})
}
