package discordfake_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"parley/connectors/discord/discordfake"
	"parley/internal/require"
)

// toFake sends every request to a fake, whatever its URL says, as the version of the API that it speaks.
type toFake struct{ next http.RoundTripper }

func (f toFake) RoundTrip(r *http.Request) (*http.Response, error) {
	clone := r.Clone(r.Context())
	clone.URL.Scheme, clone.URL.Host, clone.Host = "http", "discord.test", ""
	clone.URL.Path = strings.Replace(clone.URL.Path, "/api/v"+discordgo.APIVersion, "/api/v10", 1)
	return f.next.RoundTrip(clone)
}

// The library that makes requests in production makes them to the fake: it posts, reads and deletes.
func TestDiscordgo(t *testing.T) {
	s, channel, ann := room(t)
	client := httpClient(t, serve(t, s))
	session := require.Value(discordgo.New("Bot " + s.Token()))(t)
	session.Client = &http.Client{Transport: toFake{client.Transport}, Timeout: 20 * time.Second}
	question := s.Say(channel, ann, "hello")
	sent := require.Value(session.ChannelMessageSendReply(channel, "hello yourself", &discordgo.MessageReference{MessageID: question, ChannelID: channel}))(t)
	require.NoError(t, session.ChannelTyping(channel))
	if got, err := session.ChannelMessages(channel, 10, "", question, ""); err != nil || len(got) != 1 || got[0].ID != sent.ID {
		t.Errorf("read back: %v, %v", got, err)
	}
	if shown := s.Messages(channel); len(shown) != 2 || shown[1].ReplyTo != question {
		t.Errorf("users see %+v", shown)
	}
	require.NoError(t, session.ChannelMessageDelete(channel, sent.ID))
	if got := s.Rejected(); len(got) != 0 {
		t.Errorf("rejected: %+v; want none", got)
	}
}

// DR-31: requests of another version are refused, and so are gateway connections and the names that fields had before.
func TestVersions(t *testing.T) {
	s, _, _ := room(t)
	r := newRequest(t, s, "GET", "/users/@me", "")
	r.URL.Path = "/api/v9/users/@me"
	if a := sendRequest(s, r); a.status != http.StatusNotFound || len(s.Rejected()) != 1 {
		t.Errorf("v9: %d, rejected %+v; want %d and 1", a.status, s.Rejected(), http.StatusNotFound)
	}
	bubble(t, func(t *testing.T, s *discordfake.Server, mem *memNet, _, _ string) {
		g := connectTo(t, mem, "ws://gateway.test/?v=9&encoding=json")
		if code := g.closed(); code != 4012 {
			t.Errorf("v9 was closed with %d; want 4012", code)
		}
		g = connect(t, mem)
		g.send(`{"op":2,"d":{"token":"fake-token","intents":1,"properties":{"$os":"linux"}}}`)
		if code := g.closed(); code != 4002 {
			t.Errorf("$os was closed with %d; want 4002", code)
		}
	})
}

// DR-29: a server that accepts connections and says nothing, one that ignores resumes, and an address for resumes of its own.
func TestSilence(t *testing.T) {
	bubble(t, func(t *testing.T, s *discordfake.Server, mem *memNet, _, _ string) {
		s.Silence(1)
		silent := connectTo(t, mem, "ws://gateway.test/?v=10&encoding=json")
		if code := silent.closed(); code != 4009 { // a client that never beats is closed: nothing else came
			t.Errorf("closed with %d; want 4009", code)
		}
		s.SetResumeURL("ws://elsewhere.test")
		g := connect(t, mem)
		g.identify("fake-token", 0)
		ready := g.next()
		if ready.field("resume_gateway_url") != "ws://elsewhere.test" {
			t.Errorf("ready: %s", ready.Data)
		}
		id, _ := ready.field("session_id").(string)
		s.IgnoreResumes(1)
		for i, want := range []int{opAck, 0} { // what answers a heartbeat, and the replay
			again := connect(t, mem)
			again.resume(id, 0)
			if i == 0 {
				again.send(`{"op":1,"d":null}`)
			}
			if f := again.next(); f.Op != want {
				t.Errorf("resume %d: %+v", i, f)
			}
		}
	})
}

const opAck = 11
