package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"parley/core/chat"
	"parley/core/text"
	"parley/internal/rest"
)

const (
	// lookTime is the pause between two looks at the commands of plugins.
	lookTime = time.Minute
	// absentTime is how long a command stays registered that its plugin no longer has: an MCP server can be away, and Discord limits
	// how many commands are created in a day.
	absentTime = time.Hour

	longestOption = 1000 // characters
	mostOptions   = 25
	longestText   = 100 // of a description
)

// registry keeps the slash commands registered, with those of plugins and MCP servers, which come and go.
type registry struct {
	*Discord
	app   string
	known []chat.CommandSpec // the commands of plugins that were registered last
	since time.Time
}

// newRegistry returns a registry with the commands of an earlier process.
func newRegistry(ctx context.Context, d *Discord, app string) *registry {
	r := &registry{Discord: d, app: app, since: time.Now()}
	stored, err := d.shards.Memo().Kept(ctx, r.name())
	if err == nil && stored != "" {
		err = json.Unmarshal([]byte(stored), &r.known)
	}
	if err != nil {
		d.log.Warn("can't read the registered commands of plugins", "err", err)
	}
	d.register(ctx, app, r.known)
	return r
}

func (r *registry) name() string { return Name + "/" + r.app + "/plugged" }

// watch registers changed commands of plugins, until ctx is done.
func (r *registry) watch(ctx context.Context) {
	for r.commands != nil && rest.For(ctx, lookTime) == nil {
		now := slices.Clone(r.commands())
		for _, c := range r.known {
			if time.Since(r.since) < absentTime && !slices.ContainsFunc(now, func(n chat.CommandSpec) bool { return n.Name == c.Name }) {
				now = append(now, c)
			}
		}
		slices.SortFunc(now, func(a, b chat.CommandSpec) int { return cmp.Compare(a.Name, b.Name) })
		if len(now)+len(r.known) == 0 || reflect.DeepEqual(now, r.known) {
			continue
		}
		r.known, r.since = now, time.Now()
		r.register(ctx, r.app, now)
		stored, err := json.Marshal(now)
		if err == nil {
			err = r.shards.Memo().Keep(ctx, r.name(), string(stored))
		}
		if err != nil {
			r.log.Warn("can't store the registered commands of plugins", "err", err)
		}
	}
}

// pluggedCommand returns the slash command of a plugin.
func pluggedCommand(c chat.CommandSpec) command {
	all := command{Name: string(c.Name), Description: describe(c.Description, string(c.Name))}
	for _, required := range []bool{true, false} { // Discord wants them in this order
		for _, o := range c.Options {
			known := slices.ContainsFunc(all.Options, func(other option) bool { return other.Name == o.Name })
			if o.Required == required && !known && len(all.Options) < mostOptions {
				all.Options = append(all.Options, option{
					Type: textOption, Name: o.Name, Description: describe(o.Description, o.Name), Required: o.Required, Longest: longestOption,
				})
			}
		}
	}
	return all
}

// describe returns a description, which Discord demands.
func describe(about, name string) string { return text.Brief(cmp.Or(about, name), longestText) }
