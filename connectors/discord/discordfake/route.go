package discordfake

import (
	"net/http"
	"strings"
)

// Route names an endpoint by its method and its path in Discord's reference.
type Route string

// The endpoints that the fake serves. [ConnectGateway] is the WebSocket, which
// can be made to fail like the others.
const (
	GetGateway     Route = "GET /gateway"
	GetGatewayBot  Route = "GET /gateway/bot"
	GetMe          Route = "GET /users/@me"
	GetMyGuilds    Route = "GET /users/@me/guilds"
	GetApplication Route = "GET /oauth2/applications/@me"
	GetGuild       Route = "GET /guilds/{guild_id}"
	GetMember      Route = "GET /guilds/{guild_id}/members/{user_id}"
	GetRoles       Route = "GET /guilds/{guild_id}/roles"
	GetAuditLog    Route = "GET /guilds/{guild_id}/audit-logs"
	GetChannel     Route = "GET /channels/{channel_id}"
	GetMessages    Route = "GET /channels/{channel_id}/messages"
	GetMessage     Route = "GET /channels/{channel_id}/messages/{message_id}"
	CreateMessage  Route = "POST /channels/{channel_id}/messages"
	EditMessage    Route = "PATCH /channels/{channel_id}/messages/{message_id}"
	DeleteMessage  Route = "DELETE /channels/{channel_id}/messages/{message_id}"
	AddReaction    Route = "PUT /channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/@me"
	RemoveReaction Route = "DELETE /channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/@me"
	StartTyping    Route = "POST /channels/{channel_id}/typing"
	OpenThread     Route = "POST /channels/{channel_id}/messages/{message_id}/threads"
	EditChannel    Route = "PATCH /channels/{channel_id}"
	OpenDM         Route = "POST /users/@me/channels"
	AnswerPress    Route = "POST /interactions/{interaction_id}/{interaction_token}/callback"
	EditOriginal   Route = "PATCH /webhooks/{webhook_id}/{webhook_token}/messages/@original"
	DeleteOriginal Route = "DELETE /webhooks/{webhook_id}/{webhook_token}/messages/@original"
	EditFollowUp   Route = "PATCH /webhooks/{webhook_id}/{webhook_token}/messages/{message_id}"
	DeleteFollowUp Route = "DELETE /webhooks/{webhook_id}/{webhook_token}/messages/{message_id}"
	PostFollowUp   Route = "POST /webhooks/{webhook_id}/{webhook_token}"
	GetCommands    Route = "GET /applications/{application_id}/commands"
	PutCommands    Route = "PUT /applications/{application_id}/commands"
	GetGuildCmds   Route = "GET /applications/{application_id}/guilds/{guild_id}/commands"
	PutGuildCmds   Route = "PUT /applications/{application_id}/guilds/{guild_id}/commands"
	ConnectGateway Route = "CONNECT gateway"
)

// Method is the HTTP method of the route.
func (r Route) Method() string { return strings.SplitN(string(r), " ", 2)[0] }

// Template is the path of the route, with its parameters in braces.
func (r Route) Template() string { return strings.SplitN(string(r), " ", 2)[1] }

// action performs one endpoint. It runs under the server's mutex, and answers
// with a status and what is to be encoded as JSON (nil for no body).
type action func(*Server, *call) (int, any, *apiError)

type endpoint struct {
	route Route
	do    action
}

func endpoints() []endpoint {
	return []endpoint{
		{GetGateway, (*Server).getGateway},
		{GetGatewayBot, (*Server).getGatewayBot},
		{GetMe, (*Server).getMe},
		{GetMyGuilds, (*Server).getMyGuilds},
		{GetApplication, (*Server).getApplication},
		{GetGuild, (*Server).getGuild},
		{GetRoles, (*Server).getRoles},
		{GetAuditLog, (*Server).getAuditLog},
		{GetMember, (*Server).getMember},
		{GetChannel, (*Server).getChannel},
		{GetMessages, (*Server).getMessages},
		{GetMessage, (*Server).getMessage},
		{CreateMessage, (*Server).createMessage},
		{EditMessage, (*Server).editMessage},
		{DeleteMessage, (*Server).deleteMessage},
		{AddReaction, (*Server).react},
		{RemoveReaction, (*Server).react},
		{StartTyping, (*Server).startTyping},
		{OpenThread, (*Server).openThread},
		{EditChannel, (*Server).editChannel},
		{OpenDM, (*Server).postDM},
		{AnswerPress, (*Server).callback},
		{EditOriginal, (*Server).editAnswer},
		{DeleteOriginal, (*Server).deleteAnswer},
		{EditFollowUp, (*Server).editAnswer},
		{DeleteFollowUp, (*Server).deleteAnswer},
		{PostFollowUp, (*Server).followUp},
		{GetCommands, (*Server).getCommands},
		{PutCommands, (*Server).putCommands},
		{GetGuildCmds, (*Server).getCommands},
		{PutGuildCmds, (*Server).putCommands},
	}
}

// free reports whether the token in the route's path stands for the bot's: as those of interactions, it needs no authorization, and is not
// bound to the bot's global limit.
func (r Route) free() bool {
	return r == AnswerPress || strings.Contains(string(r), "/{webhook_token}")
}

// find returns the endpoint for a method and a path below /api/vN, with the
// path's parameters; known reports whether the path exists for another method.
func find(table []endpoint, method, path string) (found *endpoint, params map[string]string, known bool) {
	for i := range table {
		got, ok := match(table[i].route.Template(), path)
		if !ok {
			continue
		}
		known = true
		if table[i].route.Method() == method {
			return &table[i], got, true
		}
	}
	return nil, nil, known
}

func match(template, path string) (map[string]string, bool) {
	want, have := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return nil, false
	}
	params := map[string]string{}
	for i, w := range want {
		switch name, isParam := strings.CutPrefix(w, "{"); {
		case isParam && (number(have[i]) != 0 || strings.HasSuffix(name, "_token}") || strings.HasSuffix(name, "_name}")):
			params[strings.TrimSuffix(name, "}")] = have[i]
		case w != have[i]:
			return nil, false
		}
	}
	return params, true
}

// apiPath cuts /api/v10 off a request's path. Other versions are not known (DR-31).
func apiPath(r *http.Request) (string, bool) {
	if rest, ok := strings.CutPrefix(r.URL.Path, "/api/v10"); ok && strings.HasPrefix(rest, "/") {
		return rest, true
	}
	return r.URL.Path, false
}
