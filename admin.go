package parley

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	"parley/config"
	"parley/connectors/web"
	"parley/core"
	"parley/core/access"
	"parley/core/action"
	"parley/core/chat"
	"parley/internal/admin"
	"parley/internal/settings"
)

// operators is the gateway for the operator's page.
type operators struct {
	*core.Runtime
	gateway *Gateway
	edition *edition
}

// operatorsPage serves the operator's page with a configuration.
type operatorsPage struct {
	config.Admin
	http.HandlerFunc
}

// operatorsPage returns the operator's page for e.
func (g *Gateway) operatorsPage(e *edition) operatorsPage {
	c := e.cfg.Admin.OIDC
	return operatorsPage{e.cfg.Admin, admin.New(admin.Options{
		Store: g.backends.store, Memo: g.backends.memo, Gateway: operators{g.runtime, g, e}, Agent: settings.Agent(e.cfg), Zone: e.cfg.Zone(), Fetch: g.fetch, Log: g.env.Log,
		OIDC: admin.OIDC{Issuer: c.Issuer, ClientID: c.ClientID, ClientSecret: c.ClientSecret.Reveal(), Owners: c.Owners, Staff: c.Staff},
	}).ServeHTTP}
}

// plugin returns the command that gives owners and staff a code for the page, in a private chat.
func (o operators) plugin() action.Plugin {
	return action.Plugin{Name: "admin", Commands: []action.Command{{Name: chat.AdminCommand, Run: func(ctx context.Context, c action.CommandCall) (string, error) {
		role, err := o.Role(ctx, c.Message.Author)
		switch {
		case err != nil:
			return "", err
		case role == "":
			return "Only owners and staff can open the operator's page.", nil
		case !c.Room.Kind.Private():
			return "Send me this in a direct message.", nil
		}
		code, err := admin.NewCode(ctx, o.gateway.backends.memo, c.Message.Author)
		if err != nil {
			return "", err
		}
		site := "http://" + o.gateway.addr.String()
		if sites := o.gateway.cfg.Web.TLS.Origins(); len(sites) > 0 {
			site = sites[0]
		}
		return fmt.Sprintf("Open %s%s, or %[2]s where my web chat is served over https, and enter this code within five minutes: %s", site, admin.Path, code), nil
	}}}}
}

// Role implements [admin.Gateway].
func (o operators) Role(ctx context.Context, account chat.EntityID) (admin.Role, error) {
	owns, err := o.gateway.runtime.Owns(ctx, account)
	switch {
	case err != nil:
		return "", err
	case owns:
		return admin.Owner, nil
	}
	staff, err := o.gateway.runtime.IsStaff(ctx, account)
	return map[bool]admin.Role{true: admin.Staff}[staff], err
}

// Health implements [admin.Gateway].
func (o operators) Health(ctx context.Context) (all []admin.Health) {
	for _, s := range o.gateway.about(o.edition).Health(ctx) {
		h := admin.Health{Part: s.Name, OK: s.Err == nil, State: "ok"}
		if s.Err != nil {
			h.State = s.Err.Error()
		}
		all = append(all, h)
	}
	for _, s := range o.gateway.parts() {
		if why := s.limited(); why != "" || s.name != "" {
			all = append(all, admin.Health{Part: cmp.Or(s.name, "Limited"), OK: why == "", State: cmp.Or(why, "ok"), Connection: s.name != ""})
		}
	}
	return all
}

// Settings implements [admin.Gateway].
func (o operators) Settings() []config.Setting { return o.edition.cfg.Settings() }

// Files implements [admin.Gateway].
func (o operators) Files() []string { return o.edition.cfg.Prompts }

// errChanged means that a file was changed elsewhere since it was read.
var errChanged = errors.New("the file was changed meanwhile; open the page again and repeat your changes")

// Edit implements [admin.Gateway]. Reloads wait until it has returned, so none sees a text that is invalid. After an error the file is as
// before.
func (o operators) Edit(ctx context.Context, file, was, text string) (needRestart []string, err error) {
	g := o.gateway
	if g.env.Load == nil {
		return nil, errNoSource
	}
	g.reloading.Lock()
	defer g.reloading.Unlock()
	before, err := os.ReadFile(file)
	switch {
	case err != nil:
		return nil, err
	case strings.ReplaceAll(string(before), "\r\n", "\n") != was:
		return nil, errChanged
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil { // the mode is that of the file
		return nil, errors.Join(err, os.WriteFile(file, before, 0o600))
	}
	if needRestart, err = g.load(ctx); err != nil {
		return nil, errors.Join(err, os.WriteFile(file, before, 0o600))
	}
	g.broken.Store(false)
	return needRestart, nil
}

// Tasks implements [admin.Gateway].
func (o operators) Tasks() (all []admin.Task) {
	for _, s := range o.edition.cfg.Schedules {
		all = append(all, admin.Task{Kind: "schedule", Name: s.Name, When: s.Cron, Room: string(s.Room), Text: s.Prompt + s.Text})
	}
	for _, h := range o.edition.cfg.Hooks {
		all = append(all, admin.Task{Kind: "hook", Name: h.Name, When: "when it is called", Room: string(h.Room), Text: h.Prompt + h.Text})
	}
	return all
}

// RunTask implements [admin.Gateway].
func (o operators) RunTask(ctx context.Context, kind, name string) error {
	key := "now/" + rand.Text()
	if kind == "hook" {
		_, err := o.edition.tasks.Receive(ctx, name, key, nil)
		return err
	}
	return o.edition.tasks.Start(ctx, name, key)
}

// Handovers implements [admin.Gateway]. They are in the order of their rooms.
func (o operators) Handovers(ctx context.Context) (list []admin.Handover, err error) {
	all, err := o.gateway.runtime.Handovers().Open(ctx)
	for _, room := range slices.Sorted(maps.Keys(all)) {
		h := all[room]
		by := ""
		if h.Person != "" {
			by = cmp.Or(h.As, string(h.Person))
		}
		if h.Person == web.Owner {
			h.Person = ""
		}
		list = append(list, admin.Handover{ID: h.ID, Room: chat.RoomID(room), Name: h.User(ctx), Why: h.Reason(ctx), Person: h.Person, By: by, Since: h.Since, Late: h.Late})
	}
	return list, err
}

// HandBack implements [admin.Gateway].
func (o operators) HandBack(ctx context.Context, request string) (string, error) {
	return o.gateway.runtime.Handovers().Return(ctx, request)
}

// TakeOver implements [admin.Gateway].
func (o operators) TakeOver(ctx context.Context, request string, by chat.Person) (string, error) {
	return o.gateway.runtime.Handovers().TakeOver(ctx, request, by)
}

// Write implements [admin.Gateway].
func (o operators) Write(ctx context.Context, request string, m access.PageMessage) error {
	return o.gateway.runtime.Handovers().Write(ctx, request, m)
}

// Draft implements [admin.Gateway].
func (o operators) Draft(ctx context.Context, request string, by chat.EntityID) (string, error) {
	return o.gateway.runtime.Handovers().DraftFor(ctx, request, by)
}

// Blocked implements [admin.Gateway].
func (o operators) Blocked(ctx context.Context) (map[chat.EntityID]bool, error) {
	stored, err := o.gateway.runtime.Blocks(ctx)
	all := maps.Clone(settings.Access(o.edition.cfg).Blocked.Accounts)
	for id := range stored {
		if !all[id] {
			all[id] = false
		}
	}
	return all, err
}

// audit adds a decision that a user made in a chat to the audit log of the operator's page.
func (g *Gateway) audit(ctx context.Context, by chat.EntityID, what, about string) {
	if err := admin.Record(ctx, g.backends.memo, string(by), "a chat", what, about); err != nil {
		g.env.Log.Error("a decision is not in the audit log", "what", what, "err", err)
	}
}

// SetBlocked implements [admin.Gateway].
func (o operators) SetBlocked(ctx context.Context, account, by chat.EntityID, blocked bool) error {
	return o.gateway.runtime.SetBlocked(ctx, account, by, blocked)
}
