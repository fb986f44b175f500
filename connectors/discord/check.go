package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"parley/connectors"
)

// Check implements [connectors.Checker].
func (d *Discord) Check(ctx context.Context) (found connectors.CheckResult, err error) {
	if d.client.wrong != nil {
		return found, d.client.wrong
	}
	defer d.client.http.CloseIdleConnections()
	me, err := d.me(ctx)
	if err != nil {
		return found, advise(err)
	}
	var gateway struct {
		Limit struct {
			Remaining int `json:"remaining"`
			Total     int `json:"total"`
		} `json:"session_start_limit"`
	}
	if err := d.client.do(ctx, http.MethodGet, "gateway/bot", nil, &gateway); err != nil {
		return found, advise(fmt.Errorf("get the Discord gateway URL: %w", err))
	}
	app := d.application(ctx)
	found.Text = fmt.Sprintf("%s has %d of %d logins left today; invite it with %s",
		me.Name, gateway.Limit.Remaining, gateway.Limit.Total, app.invitation(me))
	if !app.readsContent() {
		found.Unheard = "the Message Content intent is off, so in servers it only receives messages that mention it: switch it on at " + portal
	}
	return found, nil
}

// advise adds to err what to do about it.
func advise(err error) error {
	var r *refusal
	switch {
	case errors.As(err, &r) && r.status == http.StatusNotFound:
		return fmt.Errorf("%w: no Discord API there; check connectors.discord.api_url", err)
	case errors.Is(err, errUnsent):
		return fmt.Errorf("%w; check the network and connectors.discord.api_url", err)
	}
	return err
}
