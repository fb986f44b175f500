package discordfake_test

import (
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"

	"parley/connectors/discord/discordfake"
	"parley/internal/require"
)

func loadSpec(t *testing.T) *discordfake.Spec {
	t.Helper()
	spec := require.Value(discordfake.SharedSpec())(t)
	if spec == nil {
		t.Skip("SKIPPED: PARLEY_SPECS names no directory with " + discordfake.SpecFile + "; requests are NOT compared with Discord's API description")
	}
	return spec
}

func TestSpecBodies(t *testing.T) {
	spec := loadSpec(t)
	for name, test := range map[string]struct {
		route discordfake.Route
		body  string
		want  string // part of the problem; "" if there is none
	}{
		"a text":           {discordfake.CreateMessage, `{"content":"x","tts":false,"nonce":"n","enforce_nonce":true,"flags":4}`, ""},
		"a reply":          {discordfake.CreateMessage, `{"content":"x","message_reference":{"message_id":"1","fail_if_not_exists":false},"allowed_mentions":{"parse":["users"],"replied_user":true}}`, ""},
		"nulls":            {discordfake.CreateMessage, `{"content":null,"embeds":null,"components":null,"sticker_ids":null}`, ""},
		"an integer nonce": {discordfake.CreateMessage, `{"content":"x","nonce":7}`, ""},
		"buttons":          {discordfake.CreateMessage, `{"components":[{"type":1,"components":[{"type":2,"style":1,"custom_id":"a","label":"A"}]}]}`, ""},
		"an edit":          {discordfake.EditMessage, `{"content":"x","flags":4,"allowed_mentions":{"parse":[]}}`, ""},
		"a direct message": {discordfake.OpenDM, `{"recipient_id":"1"}`, ""},
		"typing":           {discordfake.StartTyping, ``, ""},

		"unknown field":       {discordfake.CreateMessage, `{"content":"x","colour":1}`, "body.colour: unknown field"},
		"unknown inner field": {discordfake.CreateMessage, `{"allowed_mentions":{"parse":[],"everyone":false}}`, "body.allowed_mentions.everyone: unknown field"},
		"a nonce on edit":     {discordfake.EditMessage, `{"content":"x","nonce":"n"}`, "body.nonce: unknown field"},
		"wrong type":          {discordfake.CreateMessage, `{"content":1}`, "body.content: integer"},
		"a fraction":          {discordfake.CreateMessage, `{"flags":1.5}`, "body.flags: number"},
		"no snowflake":        {discordfake.CreateMessage, `{"message_reference":{"message_id":"x1"}}`, "body.message_reference.message_id"},
		"DR-28 numeric id":    {discordfake.OpenDM, `{"recipient_id":1}`, "body.recipient_id"},
		"missing":             {discordfake.CreateMessage, `{"message_reference":{}}`, "body.message_reference.message_id: missing"},
		"not in the list":     {discordfake.CreateMessage, `{"allowed_mentions":{"parse":["all"]}}`, "body.allowed_mentions.parse[0]"},
		"twice":               {discordfake.CreateMessage, `{"allowed_mentions":{"users":["1","1"]}}`, "body.allowed_mentions.users[1]: not unique"},
		"long nonce":          {discordfake.CreateMessage, `{"nonce":"12345678901234567890123456"}`, "body.nonce"},
		"bad button":          {discordfake.CreateMessage, `{"components":[{"type":1,"components":[{"type":2,"style":1,"custom_id":"a","colour":1}]}]}`, "colour: unknown field"},
		"eleven embeds":       {discordfake.CreateMessage, `{"embeds":[{},{},{},{},{},{},{},{},{},{},{}]}`, "body.embeds: 11 items"},
		"a body for typing":   {discordfake.StartTyping, `{}`, "takes no body"},
		"no JSON":             {discordfake.CreateMessage, `{`, "body"},
		"unknown operation":   {discordfake.Route("PUT /channels/{channel_id}/messages"), ``, "no operation"},
	} {
		err := spec.CheckBody(test.route, []byte(test.body))
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.want != "" && (!errors.Is(err, discordfake.ErrSpec) || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

func TestSpecQueries(t *testing.T) {
	spec := loadSpec(t)
	for query, ok := range map[string]bool{
		"": true, "limit=100&after=1": true, "limit=101": false, "limit=x": false, "after=x": false, "since=1": false,
	} {
		values := require.Value(url.ParseQuery(query))(t)
		if err := spec.CheckQuery(discordfake.GetMessages, values); (err == nil) != ok {
			t.Errorf("%q: %v", query, err)
		}
	}
}

// Every endpoint of the fake is one of Discord's, and the check is in force.
func TestServerWithSpec(t *testing.T) {
	s, channel, ann := room(t, discordfake.WithSpec(loadSpec(t)), discordfake.WithGatewayURL("ws://gw.test"))
	s.SwitchLimits(false)
	messages := "/channels/" + channel + "/messages"
	id := post(t, s, channel, `{"content":"x"}`)
	for path, body := range map[string]string{
		"GET /gateway": "", "GET /gateway/bot": "", "GET /users/@me": "", "GET /oauth2/applications/@me": "",
		"GET /channels/" + channel: "", "GET " + messages + "?limit=5": "", "GET " + messages + "/" + id: "",
		"PATCH " + messages + "/" + id: `{"content":"y"}`, "POST /channels/" + channel + "/typing": "",
		"POST /users/@me/channels": `{"recipient_id":"` + ann + `"}`,
	} {
		method, target, _ := strings.Cut(path, " ")
		if a := send(t, s, method, target, body); a.status >= 400 {
			t.Errorf("%s: %s", path, a.text)
		}
	}
	// Only the description knows that a list must not repeat itself.
	a := send(t, s, "POST", messages, `{"content":"x","allowed_mentions":{"parse":["users","users"]}}`)
	if got := s.Rejected(); a.code() != 50035 || len(got) != 1 || !strings.Contains(got[0].Reason, "not unique") {
		t.Errorf("%s; rejected %+v", a.text, got)
	}
}

func TestLoadSpecNamesTheFile(t *testing.T) {
	_, err := discordfake.LoadSpec(t.TempDir())
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), discordfake.SpecFile) {
		t.Errorf("error %v", err)
	}
}
