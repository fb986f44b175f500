package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core/text"
)

const (
	maxPages   = 200             // of one list
	emptyPages = 3               // pages in a row with nothing new; then the rest of a list is not read
	laterPages = 8 * time.Second // for all pages after the first: then the items read so far are used
	maxLeftOut = 5               // tools that are named when they can't be used
)

// pages reads a list page by page. ask returns a page and the cursor of the next one, "" for none. take gets each item,
// and returns whether it is new, and whether more are wanted. A server can send pages without end, the same ones again
// and again, or none at all at some point: then pages ends, and odd has the reason. Only a first page that can't be read
// is an error.
func pages[T any](ctx context.Context, ask func(ctx context.Context, cursor string) ([]T, string, error), take func(T) (fresh, more bool)) (odd string, err error) {
	cursor, seen, empty := "", map[string]bool{"": true}, 0
	for page := range maxPages {
		items, next, err := ask(ctx, cursor)
		switch {
		case err != nil && page == 0:
			return "", err
		case err != nil:
			return "the list broke off: " + err.Error(), nil
		}
		empty++
		for _, item := range items {
			fresh, more := take(item)
			if fresh {
				empty = 0
			}
			if !more {
				return "", nil
			}
		}
		switch {
		case next == "":
			return "", nil
		case seen[next]:
			return "the cursor of the list does not advance", nil
		case empty == emptyPages:
			return "the pages of the list have nothing new", nil
		}
		if page == 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, laterPages, errSlow)
			defer cancel()
		}
		cursor, seen[next] = next, true
	}
	return fmt.Sprintf("the list has more than %d pages", maxPages), nil
}

// list asks the server for everything that it has announced. Only missing tools are an error.
func (c *client) list(ctx context.Context, session *sdk.ClientSession) (s state, err error) {
	s.session = session
	has := session.InitializeResult().Capabilities
	if has == nil {
		return s, nil
	}
	if has.Tools != nil {
		if err = c.listTools(ctx, &s); err != nil {
			return s, err
		}
	}
	if has.Resources != nil {
		known := map[string]bool{}
		odd, err := pages(ctx, func(ctx context.Context, cursor string) ([]*sdk.Resource, string, error) {
			r, err := session.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
			if err != nil {
				return nil, "", err
			}
			return r.Resources, r.NextCursor, nil
		}, func(r *sdk.Resource) (fresh, more bool) {
			if fresh = r != nil && !known[r.URI]; fresh {
				known[r.URI], s.resources = true, append(s.resources, r)
			}
			return fresh, len(s.resources) < maxResources
		})
		s.note("resources", odd, err)
	}
	if has.Prompts != nil {
		known := map[string]bool{}
		odd, err := pages(ctx, func(ctx context.Context, cursor string) ([]*sdk.Prompt, string, error) {
			r, err := session.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
			if err != nil {
				return nil, "", err
			}
			return r.Prompts, r.NextCursor, nil
		}, func(p *sdk.Prompt) (fresh, more bool) {
			if fresh = p != nil && !known[p.Name]; fresh {
				known[p.Name], s.prompts = true, append(s.prompts, p)
			}
			return fresh, len(s.prompts) < maxPrompts
		})
		s.note("prompts", odd, err)
	}
	return s, nil
}

// listTools adds the tools that can be actions, the first of each name. A tool that can't be one is left out.
func (c *client) listTools(ctx context.Context, s *state) error {
	names, refused := map[string]bool{}, map[string]bool{}
	odd, err := pages(ctx, func(ctx context.Context, cursor string) ([]*sdk.Tool, string, error) {
		r, err := s.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return r.Tools, r.NextCursor, nil
	}, func(t *sdk.Tool) (fresh, more bool) {
		if t == nil {
			return false, true
		}
		made, problem := c.newTool(t)
		switch {
		case problem != "" && !refused[t.Name] && len(refused) < maxTools:
			refused[t.Name], fresh = true, true
			if len(refused) <= maxLeftOut {
				s.odd = append(s.odd, fmt.Sprintf("the tool %q is left out: %s", text.Brief(t.Name, 64), problem))
			}
		case made != nil && !names[made.spec.Name] && len(s.tools) == maxTools:
			s.odd = append(s.odd, fmt.Sprintf("it has more than %d tools; the others are left out", maxTools))
			return true, false
		case made != nil && !names[made.spec.Name]:
			names[made.spec.Name], fresh = true, true
			s.tools = append(s.tools, made)
		}
		return fresh, true
	})
	if n := len(refused) - maxLeftOut; n > 0 {
		s.odd = append(s.odd, fmt.Sprintf("%d more tools are left out", n))
	}
	s.note("tools", odd, nil)
	return err
}

// note adds an oddity of a list, if there is one.
func (s *state) note(list, odd string, err error) {
	if err != nil {
		odd = err.Error()
	}
	if odd != "" {
		s.odd = append(s.odd, list+": "+odd)
	}
}

// report logs the oddities of a server's lists, unless it logged the same ones before: a server can announce changes all
// the time.
func (c *client) report(s state) {
	if odd := c.redact(strings.Join(s.odd, "; ")); odd != "" && !slices.Equal(s.odd, c.view().odd) {
		c.log.Warn("an MCP server lists something odd; what can be used is used", "odd", odd)
	}
}
