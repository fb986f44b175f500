package discordfake_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/connectors/discord/discordfake"
)

// DR-09: without allowed_mentions everything pings, on create and on edit.
func TestPings(t *testing.T) {
	for name, test := range map[string]struct {
		create, edit string // further fields of the bodies
		want         []string
	}{
		"defaults":            {"", "", []string{"user ann", "user bob", "role", "everyone"}},
		"no one":              {`,"allowed_mentions":{"parse":[]}`, `,"allowed_mentions":{"parse":[]}`, nil},
		"forgotten on edit":   {`,"allowed_mentions":{"parse":[]}`, "", []string{"edit user ann", "edit user bob", "edit role", "edit everyone"}},
		"one user":            {`,"allowed_mentions":{"users":["ANN"]}`, `,"allowed_mentions":{"parse":[]}`, []string{"user ann"}},
		"kinds":               {`,"allowed_mentions":{"parse":["roles","everyone"]}`, `,"allowed_mentions":{"parse":[]}`, []string{"role", "everyone"}},
		"the author answered": {`,"allowed_mentions":{"parse":[],"replied_user":true}`, `,"allowed_mentions":{"parse":[]}`, []string{"user bob"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := discordfake.New()
			guild := s.AddGuild("guild")
			channel, ann, bob, role := s.AddChannel(guild, "general"), s.AddUser("ann"), s.AddUser("bob"), s.AddRole(guild, "crew")
			question := s.Say(channel, bob, "hi")
			text := fmt.Sprintf("<@%s> <@!%s> <@&%s> <@&1> <@2> @everyone", ann, ann, role)
			named := func(fields string) string { return strings.ReplaceAll(fields, "ANN", ann) }
			id := post(t, s, channel, fmt.Sprintf(`{"content":%q,"message_reference":{"message_id":%q}%s}`, text, question, named(test.create)))
			a := send(t, s, "PATCH", "/channels/"+channel+"/messages/"+id, fmt.Sprintf(`{"content":%q%s}`, text+"!", named(test.edit)))
			if a.status != 200 {
				t.Fatalf("edit: %s", a.text)
			}
			var got []string
			for _, p := range s.Pings() {
				got = append(got, describe(p, map[string]string{ann: "ann", bob: "bob"}))
			}
			slices.Sort(got)
			slices.Sort(test.want)
			if !slices.Equal(got, test.want) {
				t.Errorf("pings %v, want %v", got, test.want)
			}
		})
	}
}

func describe(p discordfake.Ping, names map[string]string) string {
	text := string(p.Kind)
	if p.Kind == discordfake.PingUser {
		text += " " + names[p.Target]
	}
	if p.OnEdit {
		text = "edit " + text
	}
	return text
}

func TestEveryoneNeedsTheRightAndAGuild(t *testing.T) {
	s, channel, ann := room(t)
	s.Deny(channel, discordfake.MentionEveryone)
	post(t, s, channel, `{"content":"@here"}`)
	post(t, s, s.AddDM(ann), `{"content":"@everyone"}`)
	if got := s.Pings(); len(got) != 0 {
		t.Errorf("pings: %+v; want none", got)
	}
}
