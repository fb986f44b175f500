package discord

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"parley/core/chat"
	"parley/progressive"
)

// signs are the reactions that show a status. Typing and the growing answer show the others.
var signs = map[chat.Status]string{chat.Waiting: "⏳", chat.NoAccess: "🔒"}

const (
	unknownEmoji = 10014          // there is no such reaction
	reactedLater = 24 * time.Hour // without the permission for reactions, the next attempt in the channel
)

// Signal implements [connectors.Signaler]. Reactions have rate limits of their own, so they take nothing from the channel's edits.
func (d *Discord) Signal(s chat.Signal) (scopes []progressive.Scope, show func(ctx context.Context) error) {
	to, err := parseAddress(s.To.ConnectorData)
	sign, method := signs[s.Is], http.MethodPut
	if sign == "" {
		sign, method = signs[s.Was], http.MethodDelete
	}
	if err != nil || sign == "" {
		return nil, nil
	}
	scopes = []progressive.Scope{progressive.Scope(routeScope + "/" + to.Channel + "/reaction")}
	select {
	case d.busy <- struct{}{}:
		scopes = append(scopes, progressive.Scope(botScope+"/"+d.bot.ID))
		<-d.busy
	default: // the account is being looked up
	}
	return scopes, func(ctx context.Context) error {
		var all error
		for _, id := range s.Messages {
			all = errors.Join(all, d.react(ctx, method, to, string(id[strings.LastIndexByte(string(id), '/')+1:]), sign))
		}
		return all
	}
}

// react adds the bot's reaction to a message, or removes it. Where the bot can't react, it doesn't try again for a day, because refusals
// count toward a ban of the IP address.
func (d *Discord) react(ctx context.Context, method string, to address, message, sign string) error {
	channel := to.Channel
	if _, refused := d.unreactive.get(channel); refused || snowflake(message) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	err := d.client.do(ctx, method, "channels/"+channel+"/messages/"+message+"/reactions/"+url.PathEscape(sign)+"/@me", nil, nil)
	var h held
	var r *refusal
	switch {
	case errors.As(err, &h):
		return progressive.RetryAfter{After: h.after, Err: h}
	case errors.As(err, &r) && r.status == http.StatusForbidden:
		d.unreactive.put(channel, true, reactedLater)
		d.report(ctx, to.Guild, channel, err)
	case errors.As(err, &r) && r.code == unknownEmoji, errors.As(err, &r) && r.code == unknownMessage:
		return nil
	}
	return err
}
