package parley

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	stores "parley/backends"
	"parley/backends/redis"
	"parley/config"
	"parley/connectors"
	"parley/core/llm"
	"parley/core/prompt"
	"parley/internal/local"
	"parley/internal/settings"
)

// Finding is the result of one check.
type Finding struct {
	Part  string // the key in config.yaml
	OK    bool
	Doubt bool   // it works, but possibly not as intended; then OK is set too
	Text  string // the result, or the problem and its remedy
	Link  string // of a bot: see [connectors.CheckResult], as is CodeLink
	// CodeLink, with a pairing code after it, sends the code to the bot.
	CodeLink string
}

// Check tests cfg against the real services without disturbing users. It opens the store unless a running gateway has
// it, contacts Redis, tries each model at little cost, looks up the bots on their platforms, and checks that someone
// is allowed to talk to them. Parts are tested one after the other, each for at most twenty seconds. With the names of parts,
// such as "store" or "models.large", only those are tested.
func Check(ctx context.Context, cfg config.Config, env Env, only ...string) []Finding {
	env = env.filled()
	cfg = env.applyTo(cfg)
	quiet := env
	quiet.Log = slog.New(slog.DiscardHandler) // a parameter that a model refuses is a finding
	models := newModels(cfg, quiet)
	defer func() { _ = models.close() }() // only idle connections remain
	var store *stores.Checked             // nil if the store can't be opened
	parts := []part{
		{"agent", func(context.Context) (string, error) { return checkAgent(cfg, env) }},
		{"store", func(ctx context.Context) (string, error) {
			found, err := stores.Check(ctx, cfg.Store.Reveal())
			if err != nil {
				return "", err
			}
			store = &found
			return checkRestored(ctx, cfg, found.Text)
		}},
		{"shared", func(ctx context.Context) (string, error) { return checkShared(ctx, cfg, env, store) }},
		{"web", func(ctx context.Context) (string, error) { return checkWeb(ctx, cfg, env) }},
	}
	if len(cfg.Web.TLS) > 0 {
		parts = append(parts, part{"web.tls", func(ctx context.Context) (string, error) {
			return checkSecure(ctx, cfg, env, net.DefaultResolver.LookupHost)
		}})
	}
	parts = append(parts, models.checks...)
	parts = append(parts, checkPrices(cfg))
	parts = append(parts, checkTools(cfg, env, models)...)
	if cfg.Agent.Recall.ByMeaning() {
		parts = append(parts, part{"agent.recall", with(&store, func(ctx context.Context) (string, error) { return checkRecall(ctx, cfg, models.Embedder) })})
	}
	links := map[string]connectors.CheckResult{}
	on, err := allPlatforms(cfg, func(string) connectors.Deps { return connectors.Deps{Log: env.Log, Dial: env.Dial} }, env)
	if err != nil {
		parts = append(parts, part{"connectors", func(context.Context) (string, error) { return "", err }})
	}
	for _, p := range on {
		if c, ok := p.Connector.(connectors.Checker); ok {
			name := "connectors." + p.Name()
			parts = append(parts, part{name, func(ctx context.Context) (text string, err error) {
				text, links[name], err = checkPlatform(ctx, c, allEars(cfg.Access, p.Name()))
				return text, err
			}})
		}
	}
	if len(on) > 0 {
		parts = append(parts, part{"owner", with(&store, func(ctx context.Context) (string, error) { return checkOwner(ctx, cfg) })})
	}
	var all []Finding
	for _, p := range parts {
		if len(only) > 0 && !slices.Contains(only, p.name) {
			continue
		}
		f := p.try(ctx)
		f.Link, f.CodeLink = links[p.name].Link, links[p.name].CodeLink
		all = append(all, f)
	}
	return all
}

// with returns a check that is left out if the store can't be opened: it would wait for the same server once more, and
// report the same problem.
func with(store **stores.Checked, check func(context.Context) (string, error)) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		if *store == nil {
			return "unknown: the store can't be opened", nil
		}
		return check(ctx)
	}
}

// CheckShared tests whether Redis can be reached, if it is configured.
func CheckShared(ctx context.Context, cfg config.Config, env Env) Finding {
	return part{"shared", func(ctx context.Context) (string, error) { return checkShared(ctx, cfg, env.filled(), nil) }}.try(ctx)
}

// part is a check of one part of the configuration. check returns a [warning] if it is not certain that there is a
// problem.
type part struct {
	name  string
	check func(context.Context) (string, error)
}

// warning is an error that only warns.
type warning string

func (d warning) Error() string { return string(d) }

// try runs the check within its time limit.
func (p part) try(ctx context.Context) Finding {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	text, err := p.check(ctx)
	if err != nil {
		_, doubted := errors.AsType[warning](err)
		return Finding{Part: p.name, OK: doubted, Doubt: doubted, Text: inTime(oneLine(err.Error()))}
	}
	return Finding{Part: p.name, OK: true, Text: text}
}

// inTime replaces Go's words for a time limit by advice for the owner.
func inTime(text string) string {
	late := context.DeadlineExceeded.Error()
	if !strings.Contains(text, late) {
		return text
	}
	text = strings.ReplaceAll(text, late, "no answer in time")
	if !strings.Contains(text, "check") {
		text += "; check that it is up, and that this machine can reach it"
	}
	return text
}

// oneLine joins the lines of an error: a finding is one line.
func oneLine(text string) string {
	var parts []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			parts = append(parts, line)
		}
	}
	return strings.ReplaceAll(strings.Join(parts, "; "), ":; ", ": ")
}

// checkAgent parses the templates of the character, as the gateway does when it starts. The plugins have no models here, so their
// complaints about that are not logged.
func checkAgent(cfg config.Config, env Env) (string, error) {
	env.Log = slog.New(slog.DiscardHandler)
	b := &pluginBuilder{env: env} // without a store, as it runs nothing
	if err := errors.Join(b.addConfigured(cfg, nil, nil, llm.Models{}), b.addProgram()); err != nil {
		return "", err
	}
	agent := settings.Agent(cfg)
	completed, err := prompt.CheckTemplates(b.plugins(cfg.Agent.Type), agent.Templates)
	if err != nil {
		return "", settings.InPlace(cfg, err)
	}
	text := agent.Name
	if cfg.Agent.Character != "" {
		text += " of " + cfg.Agent.Character
	}
	if n := len(cfg.Agent.Documents); n > 0 {
		text += fmt.Sprintf(", with %d knowledge texts", n)
	}
	if len(completed) > 0 {
		return "", warning(text + ": " + strings.Join(completed, "; "))
	}
	return text, nil
}

// checkShared contacts Redis. If the store is known, it tests whether the name of the gateways is free for it, without
// taking it: a name belongs to one store while gateways with that store run.
func checkShared(ctx context.Context, cfg config.Config, env Env, store *stores.Checked) (string, error) {
	if cfg.Shared.Scheme() == "inmem" {
		return "in memory (for a single process)", nil
	}
	shared, err := redis.Open(cfg.Shared.Reveal(), redis.Options{Dial: env.Dial, Log: env.Log})
	if err != nil {
		return "", err
	}
	defer shared.Close()
	if err := shared.Ping(ctx); errors.Is(err, redis.ErrRefused) {
		return "", fmt.Errorf("%s: %w", cfg.Shared, err)
	} else if err != nil {
		return "", fmt.Errorf("%s does not answer: %w; start Redis there, or set shared: \"inmem:\" for a single process", cfg.Shared, err)
	}
	if cfg.Cluster != "" && store != nil && !store.InUse {
		holder, err := shared.Holder(ctx, cfg.Cluster)
		if err != nil {
			return "", err
		}
		if holder != "" && holder != store.ID {
			return "", fmt.Errorf("cluster %q: %w", cfg.Cluster, redis.ErrNameTaken)
		}
	}
	return cfg.Shared.String() + " answers", nil
}

// checkWeb tests whether the address of the web chat can be listened on, or belongs to a running gateway of this
// configuration.
func checkWeb(ctx context.Context, cfg config.Config, env Env) (string, error) {
	l, err := env.Listen("tcp", cfg.Web.Listen)
	if err == nil {
		return "http://" + l.Addr().String() + " is free", l.Close()
	}
	if local.Running(ctx, cfg) {
		return "already used by a running gateway: " + cfg.Web.Listen, nil
	}
	return "", fmt.Errorf("listen on %s: %w; choose another address with web.listen, or --listen", cfg.Web.Listen, err)
}

// checkPlatform looks up a bot. If key, a setting, requires messages that the platform doesn't deliver to the bot, it
// returns a warning.
func checkPlatform(ctx context.Context, c connectors.Checker, key string) (text string, found connectors.CheckResult, err error) {
	found, err = c.Check(ctx)
	switch {
	case err != nil:
		return "", found, err
	case found.NotReceived == "":
		return found.Text, found, nil
	case key == "":
		return found.Text + "; " + found.NotReceived, found, nil
	}
	return "", found, warning(fmt.Sprintf("%s; %s needs messages that the bot doesn't receive: %s", found.Text, key, found.NotReceived))
}

// allEars returns the setting that makes the agent read messages of a platform that don't mention it; "" if none does.
func allEars(a config.Access, platform string) string {
	switch listens := len(a.Rooms) == 0 || on(platform, a.Rooms); {
	case !listens:
		return ""
	case a.Group == config.GroupAmbient:
		return "access.group: ambient"
	case on(platform, a.Always.Rooms):
		return "access.always.rooms"
	}
	for i, o := range a.Overrides {
		if o.Group != nil && *o.Group == config.GroupAmbient && on(platform, o.Rooms) {
			return fmt.Sprintf("access.overrides[%d].group: ambient", i)
		}
	}
	return ""
}

// on reports whether any of ids belongs to platform.
func on[ID ~string](platform string, ids []ID) bool {
	for _, id := range ids {
		if strings.HasPrefix(string(id), platform+":") {
			return true
		}
	}
	return false
}

// checkOwner checks that someone is allowed to talk to the bots: without an owner and approved users, a bot that is
// configured correctly would stay silent.
func checkOwner(ctx context.Context, cfg config.Config) (string, error) {
	if len(cfg.People.Owners) > 0 {
		return fmt.Sprint(cfg.People.Owners[0], more(len(cfg.People.Owners)-1)), nil
	}
	people, err := local.ListPeople(ctx, cfg)
	if _, used := stores.InUse(err); used {
		return "unknown: the store is in use", nil
	} else if err != nil {
		return "", err
	}
	for _, p := range people.Approved {
		if p.Owner {
			return p.ID.Account(), nil
		}
	}
	noUsers := len(people.Approved)+len(cfg.People.Staff)+len(cfg.People.Allowed)+len(cfg.Access.Allow) == 0
	switch direct := cfg.Access.Direct; {
	case direct == config.DirectPairing:
		return "", warning("no owner yet, so new users can't be approved: start the gateway, and send the code from its log or from `gateway pair --list` to the bot in a " +
			"direct message, or set people.owners to your account")
	case direct != config.DirectOpen && noUsers:
		return "", warning(fmt.Sprintf("none, with access.direct: %s and an empty people section, so the bots reply to no one; "+
			"add accounts to people.owners or people.allowed", direct))
	}
	return "none; the access section decides who can talk to the bots", nil
}

// more returns "and n more", or "".
func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}
