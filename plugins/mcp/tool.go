package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core/action"
	"parley/core/llm"
	"parley/core/text"
	"parley/internal/trace"
)

const (
	maxDescription = 1024     // characters
	maxSchema      = 32 << 10 // bytes
	maxName        = 64       // characters, the limit of model providers
	maxFiles       = 16       // of one result
)

// tool is one tool of a server as an action. It does not change; a changed definition is another tool.
type tool struct {
	c    *client
	name string // as the server calls it
	spec action.Spec
	// kind identifies its definition: approvals are valid for one definition.
	kind string
}

// newTool returns the action of a tool; nil if the configuration excludes it. problem is why it can't be one. kind is a
// hash of all that a person or the model has seen of it.
func (c *client) newTool(t *sdk.Tool) (made *tool, problem string) {
	if slices.Contains(c.cfg.Deny, t.Name) || len(c.cfg.Allow) > 0 && !slices.Contains(c.cfg.Allow, t.Name) {
		return nil, ""
	}
	schema, err := json.Marshal(t.InputSchema)
	switch {
	case t.Name == "":
		return nil, "it has no name"
	case t.Name != text.Visible(t.Name):
		return nil, "its name has characters that can't be shown"
	case err != nil || len(schema) > maxSchema:
		return nil, "its schema is too large"
	}
	spec := action.Spec{
		Name: actionName(c.cfg.Name, t.Name), Description: text.Brief(text.Clean(t.Description), maxDescription), Parameters: schema,
		Label: c.label(t), Hide: slices.Contains(c.cfg.Hide, t.Name), Effect: c.effect(t), Unlisted: c.o.XML, Limit: c.cfg.Timeout,
	}
	h := sha256.Sum256([]byte(fmt.Sprintf("%q %q %q %s %s", c.cfg.Name, t.Name, t.Description, schema, spec.Effect)))
	return &tool{c: c, name: t.Name, spec: spec, kind: hex.EncodeToString(h[:16])}, ""
}

// actionName joins the names of a server and a tool, from characters that all model providers accept. If anything was
// replaced or cut, a hash is added: otherwise two tools could get one name, and an approval of one would apply to the
// other.
func actionName(server, name string) string {
	fit := fitting(server + "__" + name)
	if len(fit) <= maxName && fit == server+"__"+name {
		return fit
	}
	h := sha256.Sum256([]byte(server + "\x00" + name)) // two tools must not get one name
	return fit[:min(len(fit), maxName-9)] + "_" + hex.EncodeToString(h[:4])
}

// actionPrefix begins the names of all actions of a server.
func actionPrefix(server string) string {
	fit := fitting(server + "__")
	return fit[:min(len(fit), maxName-9)]
}

// fitting returns name with underscores in place of characters that providers refuse.
func fitting(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, name)
}

// label returns the display name of a tool: that of the configuration, or the title that the server gives, or
// one made from the tool's name, without the server's.
func (c *client) label(t *sdk.Tool) string {
	title := t.Title
	if title == "" && t.Annotations != nil {
		title = t.Annotations.Title
	}
	return cmp.Or(c.cfg.Labels[t.Name], text.Label(title), text.NameLabel(t.Name))
}

// effect returns that of the configuration, unless the server declares a graver one. A server's claim that a tool is
// harmless is ignored.
func (c *client) effect(t *sdk.Tool) action.Effect {
	e := action.Writes
	switch {
	case slices.Contains(c.cfg.Dangerous, t.Name):
		e = action.Dangerous
	case slices.Contains(c.cfg.Read, t.Name):
		e = action.Reads
	}
	if a := t.Annotations; a != nil && !a.ReadOnlyHint && a.DestructiveHint != nil && *a.DestructiveHint {
		e = action.Dangerous
	}
	return e
}

// Spec implements [action.Action].
func (t *tool) Spec() action.Spec { return t.spec }

// Available implements [action.Conditional].
func (t *tool) Available(s action.TurnContext) bool { return t.c.available(s) }

// Guard implements [action.Guarded]: a tool that can change something needs an approval.
func (t *tool) Guard(*action.Call) *action.Approval {
	if !t.spec.Effect.Changes() {
		return nil
	}
	return &action.Approval{Server: t.c.cfg.Name, Tool: t.name, Kind: t.kind}
}

// Act implements [action.Action].
func (t *tool) Act(ctx context.Context, c *action.Call) (action.Result, error) {
	s := t.c.view()
	if s.session == nil {
		return action.Result{}, fmt.Errorf("the MCP server %s can't be reached at the moment. Nothing was done; try again later", t.c.cfg.Name)
	}
	now := slices.IndexFunc(s.tools, func(o *tool) bool { return o == t })
	// The approved definition is not the server's current one.
	if now < 0 {
		return action.Result{}, fmt.Errorf("the MCP server %s has changed this tool; ask again", t.c.cfg.Name)
	}
	token, end := t.c.begin(ctx, c)
	defer end()
	params := &sdk.CallToolParams{Name: t.name, Arguments: c.Parameters}
	params.SetProgressToken(token)
	trace.Tell(ctx, func(name, value string) { params.Meta[name] = value })
	r, err := within(ctx, t.limit(), func(ctx context.Context) (*sdk.CallToolResult, error) { return s.session.CallTool(ctx, params) })
	if err != nil {
		return action.Result{}, t.failure(ctx, err)
	}
	return t.result(r)
}

// limit returns the time limit of a call.
func (t *tool) limit() time.Duration {
	if t.spec.Limit > 0 {
		return t.spec.Limit
	}
	return time.Minute
}

// failure returns the text for the model about a call without a result. It mentions a possible effect of the call, so
// that the model doesn't simply repeat it. A call that took too long makes the client check whether the server still
// responds.
func (t *tool) failure(ctx context.Context, err error) error {
	unknown := ""
	if t.spec.Effect.Changes() {
		unknown = " It is unknown whether it did something; do not repeat it without asking the user."
	}
	refused := (*jsonrpc.Error)(nil)
	switch {
	case errors.Is(err, errSlow), ctx.Err() != nil:
		t.c.signal(t.c.suspect)
		return fmt.Errorf("the MCP server %s took too long.%s", t.c.cfg.Name, unknown)
	case errors.As(err, &refused):
		return fmt.Errorf("the MCP server %s: %s", t.c.cfg.Name, t.c.serverText(refused.Message, maxDescription))
	}
	t.c.log.Warn("a call of an MCP server has failed", "tool", t.name, "err", t.c.redact(err.Error()))
	return fmt.Errorf("the MCP server %s ended, or could not be reached, before it answered.%s", t.c.cfg.Name, unknown)
}

// result converts the server's result. A result that the server marks as an error is an error.
func (t *tool) result(r *sdk.CallToolResult) (action.Result, error) {
	out, err := contents(r.Content)
	if out.Text == "" && r.StructuredContent != nil {
		structured, _ := json.Marshal(r.StructuredContent)
		out.Text = string(structured)
	}
	if r.IsError {
		return action.Result{}, &action.PublicError{Text: cmp.Or(t.c.serverText(out.Text, maxDescription*4), "The tool failed without saying why."), Detail: true}
	}
	if out.Text == "" && len(out.Files) == 0 {
		out.Text = "Done."
	}
	return out, err
}

// contents joins the parts of a result: texts, and files, which users see and the model does not. Names of files are
// made here.
func contents(parts []sdk.Content) (out action.Result, err error) {
	var texts []string
	// Files beyond the limit are dropped without a trace in the text, because a server can send any number.
	file := func(name, mime string, data []byte) {
		if len(out.Files) < maxFiles {
			out.Files = append(out.Files, llm.File{Name: name, Type: mime, Data: data})
			texts = append(texts, fmt.Sprintf("[file %s, %s, %d bytes: shown to the user]", name, text.Label(mime), len(data)))
		}
	}
	for i, part := range parts {
		name := fmt.Sprintf("result-%d", i+1)
		switch p := part.(type) {
		case *sdk.TextContent:
			texts = append(texts, p.Text)
		case *sdk.ImageContent:
			file(name+extension(p.MIMEType), p.MIMEType, p.Data)
		case *sdk.AudioContent:
			file(name+extension(p.MIMEType), p.MIMEType, p.Data)
		case *sdk.ResourceLink:
			texts = append(texts, fmt.Sprintf("[resource %s: %s]", line(p.URI), text.Label(p.Name)))
		case *sdk.EmbeddedResource:
			if p.Resource == nil {
				continue
			}
			if len(p.Resource.Blob) > 0 {
				file(name+extension(p.Resource.MIMEType), p.Resource.MIMEType, p.Resource.Blob)
			} else {
				texts = append(texts, p.Resource.Text)
			}
		}
	}
	out.Text = strings.Join(texts, "\n")
	return out, nil
}

// extension returns the usual end of a file name; a server does not choose names.
func extension(mime string) string {
	known := map[string]string{
		"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "audio/mpeg": ".mp3", "audio/wav": ".wav",
		"audio/ogg": ".ogg", "text/plain": ".txt", "text/csv": ".csv", "application/json": ".json", "application/pdf": ".pdf", "application/gzip": ".gz",
		"application/zip": ".zip",
	}
	return known[strings.ToLower(strings.TrimSpace(mime))]
}

// line returns an address of a server in one line.
func line(uri string) string { return text.OneLine(text.Visible(uri), 500) }
