package parley

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"parley/config"
	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/local"
	"parley/internal/settings"
	"parley/plugins/mcp"
	"parley/plugins/mcp/oauth"
	"parley/plugins/webhook"
)

// mcpServers returns the MCP servers of the configuration.
func mcpServers(cfg config.Config) (all []mcp.Server) {
	for _, s := range cfg.MCP {
		made := mcp.Server{
			Name: s.Name, Command: s.Command, Dir: s.Dir, Env: settings.Reveal(s.Env), Limits: mcp.Limits{Memory: s.Memory, CPU: s.CPU}, URL: s.URL, Headers: settings.Reveal(s.Headers),
			Allow: s.Tools.Allow, Deny: s.Tools.Deny, Read: s.Tools.Read, Dangerous: s.Tools.Dangerous, Labels: s.Tools.Labels, Hide: s.Tools.Hide,
			Available: settings.Users(s.Who, s.Rooms), Timeout: s.Timeout,
		}
		if s.OAuth.Enabled {
			made.OAuth = &oauth.Settings{
				Server: s.Name, URL: s.URL, ClientID: s.OAuth.ClientID, ClientSecret: s.OAuth.ClientSecret.Reveal(), Issuer: s.OAuth.Issuer, Scopes: s.OAuth.Scopes,
			}
		}
		all = append(all, made)
	}
	return all
}

// LoginMCP logs in to the MCP server with that name, and stores its tokens, encrypted with secret_key, at the running
// gateway of cfg or in its store. It calls show with the address that a person opens in a browser. The login ends there with
// a redirect to this machine; from another machine, the address of the redirect can be sent to pasted instead. It fails
// if the server is not configured for logins, or if the login fails.
func LoginMCP(ctx context.Context, cfg config.Config, name string, show func(address string), pasted <-chan string) error {
	all := mcpServers(cfg)
	i := slices.IndexFunc(all, func(s mcp.Server) bool { return s.Name == name && s.OAuth != nil })
	if i < 0 {
		return fmt.Errorf("mcp in the configuration has no server %q with oauth.enabled", name)
	}
	key, err := oauth.ParseKey(cfg.SecretKey.Reveal())
	if err != nil {
		return fmt.Errorf("read secret_key: %w", err)
	}
	// It listens before the login begins, because the redirect names the port.
	browser, err := oauth.Listen(ctx)
	if err != nil {
		return err
	}
	value, err := oauth.Login(ctx, *all[i].OAuth, key, oauth.NewClient(nil), browser.Redirect(), func(ctx context.Context, address string) (string, error) {
		show(address)
		return browser.Wait(ctx, address, pasted)
	})
	_ = browser.Close()
	if err != nil {
		return fmt.Errorf("log in to %s: %w", name, err)
	}
	return local.Keep(ctx, cfg, pluginKey(mcp.Name, oauth.Name(name)), value)
}

// webhooks returns the tools of the configuration that call HTTP endpoints.
func webhooks(cfg config.Config) (all []webhook.Tool) {
	effects := map[config.ToolEffect]action.Effect{config.ToolReads: action.Reads, config.ToolDangerous: action.Dangerous}
	for _, t := range cfg.Tools {
		made := webhook.Tool{
			Name: t.Name, Label: t.Label, Hide: t.Hide, Description: t.Description, URL: t.URL, Method: string(t.Method), Headers: settings.Reveal(t.Headers), Secret: t.Secret.Reveal(),
			Effect: cmp.Or(effects[t.Effect], action.Writes), Available: settings.Users(t.Who, t.Rooms), Timeout: t.Timeout,
		}
		if t.Parameters != "" {
			made.Parameters = json.RawMessage(t.Parameters)
		}
		all = append(all, made)
	}
	return all
}

// checkTools returns the checks of MCP servers, which are connected and list their tools, and of webhooks, which get a
// ping; and last that of the tools themselves, which are offered to the models that answer. They call no tool.
func checkTools(cfg config.Config, env Env, models *models) (parts []part) {
	var found []llm.Tool
	add := func(s action.Spec) {
		found = append(found, llm.Tool{Name: s.Name, Description: s.Description, Parameters: s.Parameters})
	}
	for _, s := range mcpServers(cfg) {
		parts = append(parts, part{"mcp." + s.Name, func(ctx context.Context) (string, error) {
			line, specs, err := checkMCP(ctx, cfg, env, s)
			for _, s := range specs {
				add(s)
			}
			return line, err
		}})
	}
	for _, a := range webhook.New(webhooks(cfg), nil).Actions {
		add(a.Spec())
	}
	for _, t := range webhooks(cfg) {
		parts = append(parts, part{"tools." + t.Name, func(ctx context.Context) (string, error) { return webhook.Check(ctx, t, webhook.Dialer(env.Dial)) }})
	}
	if len(parts) > 0 && !cfg.Agent.Generation.XML() && len(models.takers) > 0 {
		parts = append(parts, part{"tools", func(ctx context.Context) (string, error) { return models.checkTools(ctx, found) }})
	}
	return parts
}

// checkMCP connects an MCP server. One that needs a login is used with the stored one; without it, the owner is warned,
// because everything else works.
func checkMCP(ctx context.Context, cfg config.Config, env Env, s mcp.Server) (string, []action.Spec, error) {
	o := mcp.Options{Dial: env.Dial, Log: env.Log}
	if s.OAuth != nil {
		var err error
		if o.Key, err = oauth.ParseKey(cfg.SecretKey.Reveal()); err != nil {
			return "", nil, fmt.Errorf("read secret_key: %w", err)
		}
	}
	line, specs, err := mcp.Check(ctx, s, o, local.State{Config: cfg, Prefix: pluginKey(mcp.Name, ""), Create: true})
	if errors.Is(err, oauth.ErrLogin) {
		return "", nil, warning(err.Error())
	}
	return line, specs, err
}

// commandNames returns the names of the built-in commands, which prompts of MCP servers can't take.
func commandNames() (names []string) {
	for _, c := range chat.Commands() {
		names = append(names, string(c.Name))
	}
	return names
}
