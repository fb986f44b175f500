package discordfake_test

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"

	"parley/connectors/discord/discordfake"
)

// toFake sends every request to one host, whatever its URL says.
type toFake struct {
	host string
	next http.RoundTripper
}

func (f toFake) RoundTrip(r *http.Request) (*http.Response, error) {
	clone := r.Clone(r.Context())
	clone.URL.Scheme, clone.URL.Host, clone.Host = "http", f.host, ""
	return f.next.RoundTrip(clone)
}

// The library that speaks to Discord in production speaks to the fake, over
// loopback: it opens a session, hears a message, and posts, edits and deletes.
func TestDiscordgo(t *testing.T) {
	s := discordfake.New()
	defer s.Close()
	channel := s.AddChannel(s.AddGuild("guild"), "general")
	ann := s.AddUser("ann")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()

	session, heard := openSession(t, s, ln.Addr().String())
	question := s.Say(channel, ann, "hello")
	if m := receive(t, heard); m.ID != question || m.Content != "hello" || m.Author.ID != ann {
		t.Errorf("heard %+v", m.Message)
	}
	sent, err := session.ChannelMessageSendReply(channel, "hello yourself", &discordgo.MessageReference{MessageID: question, ChannelID: channel})
	if err != nil {
		t.Fatal(err)
	}
	if m := receive(t, heard); m.ID != sent.ID || m.Author.ID != session.State.User.ID {
		t.Errorf("own echo %+v", m.Message)
	}
	if err := session.ChannelTyping(channel); err != nil {
		t.Error(err)
	}
	if got, err := session.ChannelMessages(channel, 10, "", question, ""); err != nil || len(got) != 1 || got[0].ID != sent.ID {
		t.Errorf("read back: %v, %v", got, err)
	}
	if shown := s.Messages(channel); len(shown) != 2 || shown[1].ReplyTo != question {
		t.Errorf("users see %+v", shown)
	}
	if err := session.ChannelMessageDelete(channel, sent.ID); err != nil {
		t.Error(err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	s.Close()
	if err := <-served; err != http.ErrServerClosed {
		t.Error(err)
	}
	if got := s.Closes(); len(got) != 1 || got[0].Received != websocket.CloseNormalClosure {
		t.Errorf("closes: %+v", got)
	}
	if got := s.Rejected(); len(got) != 0 {
		t.Errorf("rejected: %+v", got)
	}
}

// openSession returns when READY has come.
func openSession(t *testing.T, s *discordfake.Server, addr string) (*discordgo.Session, <-chan *discordgo.MessageCreate) {
	t.Helper()
	session, err := discordgo.New("Bot " + s.Token())
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	session.Client = &http.Client{Transport: toFake{host: addr, next: transport}, Timeout: 20 * time.Second}
	session.Dialer = &websocket.Dialer{}
	session.SyncEvents = true
	session.Identify.Intents = discordgo.IntentGuilds | discordgo.IntentGuildMessages | discordgo.IntentMessageContent
	heard := make(chan *discordgo.MessageCreate, 8)
	session.AddHandler(func(_ *discordgo.Session, m *discordgo.MessageCreate) { heard <- m })
	if err := session.Open(); err != nil {
		t.Fatal(err)
	}
	return session, heard
}

func receive(t *testing.T, heard <-chan *discordgo.MessageCreate) *discordgo.MessageCreate {
	t.Helper()
	select {
	case m := <-heard:
		return m
	case <-time.After(20 * time.Second):
		t.Fatal("no event came")
		return nil
	}
}
