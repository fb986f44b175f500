// Package mcp makes the tools and resources of MCP servers actions of the agent, and their prompts commands. Each
// server runs in a loop of its own: one that is missing, crashes, hangs or floods is started again after a pause, and
// only its own calls fail meanwhile.
//
// A client keeps one server connected, and has its tools as a state that is replaced as a whole. The tools of a turn
// are looked up live ([action.Plugin].Live), because servers come and go.
//
// Servers are not trusted. Their text is bounded in length and number, shown as a quote, and cleaned of control
// characters. Their own description of a tool can only make it more dangerous than the configuration says, never less.
// Every tool that can change something needs an approval, which is valid for exactly the definition that was approved.
// A server gets nothing of the gateway's environment, can't use the model, and can ask users only for a choice.
package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/core/action"
	"parley/core/text"
	"parley/plugins/mcp/oauth"
)

// Server is the configuration of one MCP server: a command to run, or the URL of one that runs elsewhere. One of
// Command and URL is set.
type Server struct {
	Name    string
	Command []string          // the program and its arguments
	Dir     string            // its working folder; empty: a new one that is removed at the end
	Env     map[string]string // in addition to what every program needs
	Limits  Limits            // of the program
	URL     string
	Headers map[string]string // sent to the origin of URL only
	OAuth   *oauth.Settings   // how to log in to URL; nil: without

	Allow, Deny     []string          // the tools that can be used, all if Allow is empty, except those of Deny
	Labels          map[string]string // display names of tools
	Hide            []string          // the tools whose calls only owners see
	Read, Dangerous []string          // the tools with these effects; the others write. The server can only make it graver
	// Available reports whether the tools can be used in a turn, by its room and its users; nil: always.
	Available func(action.TurnContext) bool
	Timeout   time.Duration // for one call
}

// Options are all optional, except Servers.
type Options struct {
	Servers []Server
	XML     bool // the model calls all tools through CALL_MCP_TOOL
	// Reserved are the commands that prompts can't be called by.
	Reserved []string
	Key      oauth.Key // encrypts the tokens of the servers with OAuth
	Dial     func(ctx context.Context, network, address string) (net.Conn, error)
	Log      *slog.Logger
}

// Name is the name of the plugin.
const Name = "mcp"

// New returns the plugin. Servers are connected by its Work, so New never fails.
func New(o Options) action.Plugin {
	p := &plugin{xml: o.XML, reserved: o.Reserved}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	for _, s := range o.Servers {
		p.clients = append(p.clients, newClient(s, o))
	}
	actions := []action.Action{readResource{p}}
	if o.XML {
		actions = append(actions, callTool{p})
	}
	return action.Plugin{
		Name: Name, Actions: actions, Providers: []action.Provider{provider{p}, promptText{p}}, Live: p.tools, Await: p.await, Starting: p.starting, Prompts: p.commands, Init: p.init, Work: p.work,
	}
}

// plugin has the clients in the order of the configuration. It does not change.
type plugin struct {
	clients  []*client
	xml      bool
	reserved []string
}

// init implements Init of [action.Plugin].
func (p *plugin) init(_ context.Context, s action.Services) error {
	for _, c := range p.clients {
		if c.tokens == nil {
			continue
		}
		c.tokens.Store = s.State
		c.tokens.Refused = func(ctx context.Context, which string) {
			if err := s.TellOwners(ctx, "mcp-login/"+c.cfg.Name+"/"+which, "owner.mcp_login", "server", c.cfg.Name); err != nil {
				c.log.Warn("can't tell the owner that an MCP server needs a login", "err", err)
			}
		}
	}
	return nil
}

// work serves all servers until ctx is done.
func (p *plugin) work(ctx context.Context) {
	var all sync.WaitGroup
	for _, c := range p.clients {
		all.Go(func() { c.run(ctx) })
	}
	all.Wait()
}

// tools implements Live of [action.Plugin].
func (p *plugin) tools() (all []action.Action) {
	for _, c := range p.clients {
		for _, t := range c.view().tools {
			all = append(all, t)
		}
	}
	return all
}

// client returns the server of that name if the turn can use it, or nil.
func (p *plugin) client(name string, s action.TurnContext) *client {
	for _, c := range p.clients {
		if strings.EqualFold(c.cfg.Name, strings.TrimSpace(name)) && c.available(s) {
			return c
		}
	}
	return nil
}

// callTool is CALL_MCP_TOOL, for models that write their calls as text.
type callTool struct{ p *plugin }

// Spec implements [action.Action].
func (callTool) Spec() action.Spec {
	return action.Spec{
		Name: "CALL_MCP_TOOL", Similes: []string{"CALL_TOOL", "USE_TOOL", "USE_MCP_TOOL", "EXECUTE_TOOL", "RUN_TOOL", "INVOKE_TOOL"},
		Description: "Call a tool of an MCP server, as listed under MCP servers. arguments is a JSON object.",
		Parameters: json.RawMessage(`{"type":"object","required":["serverName","toolName"],"properties":{` +
			`"serverName":{"type":"string"},"toolName":{"type":"string"},"arguments":{"type":["object","string"],"description":"a JSON object"}}}`),
		Effect: action.Writes, // the real effect follows from the tool
	}
}

// Available implements [action.Conditional].
func (a callTool) Available(s action.TurnContext) bool {
	return slices.ContainsFunc(a.p.clients, func(c *client) bool { return len(c.view().tools) > 0 && c.available(s) })
}

// Delegated implements [action.Delegate]: the call is made as one of the tool itself, with its schema and effect, so
// that it is approved like a native one.
func (a callTool) Delegated(params json.RawMessage) (name string, inner json.RawMessage, err error) {
	var c struct {
		ServerName, ToolName string
		Arguments            json.RawMessage
	}
	if err := json.Unmarshal(params, &c); err != nil {
		return "", nil, fmt.Errorf("read the parameters: %w", err)
	}
	var written string
	if json.Unmarshal(c.Arguments, &written) == nil { // the object as text
		c.Arguments = json.RawMessage(cmp.Or(strings.TrimSpace(written), "{}"))
	}
	for _, client := range a.p.clients {
		for _, t := range client.view().tools {
			if strings.EqualFold(client.cfg.Name, strings.TrimSpace(c.ServerName)) && t.name == strings.TrimSpace(c.ToolName) {
				return t.spec.Name, c.Arguments, nil
			}
		}
	}
	return "", nil, fmt.Errorf("there is no tool %q of an MCP server %q", text.Brief(c.ToolName, 64), text.Brief(c.ServerName, 64))
}

// Act implements [action.Action]. The runtime calls the tool instead.
func (callTool) Act(context.Context, *action.Call) (action.Result, error) {
	return action.Result{}, errors.New("name a tool")
}

// provider lists offers that are missing from the model's list of tools: resources, and the tools for models that write
// their calls as text.
type provider struct{ p *plugin }

// Spec implements [action.Provider].
func (provider) Spec() action.ProviderSpec {
	return action.ProviderSpec{Name: "MCP", Description: "MCP servers, their tools and resources.", Stable: true}
}

// Provide implements [action.Provider].
func (a provider) Provide(_ context.Context, s action.TurnContext) (action.ProviderResult, error) {
	var b strings.Builder
	own := true // the operator has chosen the tools; the resources of a server can depend on others
	for _, c := range a.p.clients {
		v := c.view()
		if !c.available(s) || len(v.resources) == 0 && (!a.p.xml || len(v.tools) == 0) {
			continue
		}
		fmt.Fprintf(&b, "## %s\n", text.Label(c.cfg.Name))
		if a.p.xml {
			for _, t := range v.tools[:min(len(v.tools), maxListed)] {
				fmt.Fprintf(&b, "- tool %s: %s Arguments: %s\n", text.Label(t.name), text.Quote(t.spec.Description), t.spec.Parameters)
			}
		}
		own = own && len(v.resources) == 0
		for _, r := range v.resources[:min(len(v.resources), maxListed)] {
			fmt.Fprintf(&b, "- resource %s: %s\n", line(r.URI), text.Label(r.Name))
		}
	}
	if b.Len() == 0 {
		return action.ProviderResult{}, nil
	}
	return action.ProviderResult{Text: "# MCP servers\n" + strings.TrimSpace(b.String()), Own: own}, nil
}

const maxListed = 50 // tools and resources of one server in a prompt

// Limits bound the resources of a program. They apply to each of its processes.
type Limits struct {
	Memory int           // MiB for data, on Linux; 0: no limit
	CPU    time.Duration // of computing in all; then it is ended and started again; 0: no limit
}

// limited returns a command that sets limits and then becomes the given one. Memory is limited by the bytes that the
// program can write to, not by the addresses that it reserves: Node reserves a gigabyte and uses a tenth of that.
func (l Limits) limited(command []string) []string {
	var script strings.Builder
	if l.Memory > 0 {
		fmt.Fprintf(&script, "ulimit -d %d || :; ", l.Memory<<10)
	}
	if l.CPU > 0 {
		fmt.Fprintf(&script, "ulimit -t %d || :; ", max(1, int(l.CPU.Seconds())))
	}
	if _, err := exec.LookPath(shell); err != nil || script.Len() == 0 { // an image without a shell, or Windows
		return command
	}
	return append([]string{shell, "-c", script.String() + `exec "$@"`, "sh"}, command...)
}

const shell = "/bin/sh"

// found returns command with the path of its program, so that one that is missing is named as such, and not by a shell.
func found(command []string, dir string) ([]string, error) {
	program := command[0]
	if strings.ContainsRune(program, '/') && !filepath.IsAbs(program) {
		program = filepath.Join(dir, program)
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], reason(err))
	}
	return append([]string{path}, command[1:]...), nil
}
