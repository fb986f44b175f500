package parley

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"parley/backends/sqlite"
	"parley/config"
	"parley/connectors"
)

// checkWeb tries the address of the web chat, unless a running gateway has it.
func checkWeb(ctx context.Context, cfg config.Config, env Env) (string, error) {
	l, err := env.Listen("tcp", cfg.Web.Listen)
	if err == nil {
		return "http://" + l.Addr().String() + " is free", l.Close()
	}
	if err := askRunning(ctx, cfg, "pair", pairing{}, &paired{}); err == nil {
		return "already used by a running gateway: " + cfg.Web.Listen, nil
	}
	return "", fmt.Errorf("listen on %s: %w; choose another address with web.listen, or --listen", cfg.Web.Listen, err)
}

// checkPlatform tries a bot. It is in doubt where key wants the bot to hear more than the platform tells it.
func checkPlatform(ctx context.Context, c connectors.Checker, key string) (string, error) {
	found, err := c.Check(ctx)
	switch {
	case err != nil:
		return "", err
	case found.Unheard == "":
		return found.Text, nil
	case key == "":
		return found.Text + "; " + found.Unheard, nil
	}
	return "", warning(fmt.Sprintf("%s; %s needs messages that the bot doesn't receive: %s", found.Text, key, found.Unheard))
}

// allEars names the key that has the agent follow what is not addressed to it, somewhere on a platform; empty if none does.
func allEars(a config.Access, platform string) string {
	switch listens := len(a.Rooms)+len(a.Worlds) == 0 || on(platform, a.Rooms) || on(platform, a.Worlds); {
	case !listens:
		return ""
	case a.Group == config.GroupAmbient:
		return "access.group: ambient"
	case on(platform, a.Always.Rooms):
		return "access.always.rooms"
	}
	for i, o := range a.Overrides {
		if o.Group != nil && *o.Group == config.GroupAmbient && (on(platform, o.Rooms) || on(platform, o.Worlds)) {
			return fmt.Sprintf("access.overrides[%d].group: ambient", i)
		}
	}
	return ""
}

// on says whether any of ids is of a platform.
func on[ID ~string](platform string, ids []ID) bool {
	for _, id := range ids {
		if strings.HasPrefix(string(id), platform+":") {
			return true
		}
	}
	return false
}

// checkOwner looks whether the bots talk with anybody.
func checkOwner(ctx context.Context, cfg config.Config) (string, error) {
	if len(cfg.Owner) > 0 {
		return fmt.Sprint(cfg.Owner[0], more(len(cfg.Owner)-1)), nil
	}
	people, err := ListPeople(ctx, cfg)
	if used := (*sqlite.InUseError)(nil); errors.As(err, &used) {
		return "unknown: the store is in use", nil
	} else if err != nil {
		return "", err
	}
	for _, p := range people.In {
		if p.Owner {
			return strings.Replace(string(p.ID), "/", ":", 1), nil
		}
	}
	allow := cfg.Access.Allow
	nobody := len(people.In)+len(allow.Users)+len(allow.Roles)+len(allow.Rooms)+len(allow.Worlds) == 0
	switch direct := cfg.Access.Direct; {
	case direct == config.DirectPairing:
		return "", warning("no owner yet, so new users can't be approved: start the gateway, and send the code from its log or from `gateway pair --list` to the bot in a " +
			"direct message, or set owner to your account")
	case direct != config.DirectOpen && nobody:
		return "", warning(fmt.Sprintf("none, with access.direct: %s and an empty access.allow, so the bots reply to no one; "+
			"add accounts to owner or access.allow", direct))
	}
	return "none; the access section decides who can talk to the bots", nil
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}
