package discord_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/discord"
	"parley/connectors/discord/discordfake"
	"parley/core/chat"
	"parley/internal/require"
)

// On real sockets: hear a question, answer it, and leave.
func TestLoopback(t *testing.T) {
	fake := discordfake.New(discordfake.WithToken(token), discordfake.WithSpec(loadSpec(t)))
	channel, ann := fake.AddChannel(fake.AddGuild("guild"), "general"), fake.AddUser("ann")
	l := require.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	served := make(chan error, 1)
	go func() { served <- fake.Serve(l) }()
	bot := discord.New(discord.Config{Token: token, APIURL: "http://" + l.Addr().String()}, connectortest.Deps(nil))
	ctx, cancel := context.WithCancel(t.Context())
	heard, ended := make(chan chat.Message, 1), make(chan error, 1)
	go func() {
		ended <- bot.Run(ctx, func(_ context.Context, in chat.Inbound) (chat.Accepted, error) {
			heard <- in.(chat.Message)
			return chat.Accepted{}, nil
		})
	}()
	for tick := time.NewTicker(time.Millisecond); fake.Sessions() == 0; <-tick.C {
	}
	fake.Say(channel, ann, "question", discordfake.MentionBot())
	m := <-heard
	if m.Text != "question" || !m.Addressed {
		t.Errorf("heard %+v", m)
	}
	s := require.Value(bot.Open(ctx, m.Address))(t)
	require.Value(s.Post(ctx, part("answer"), "n"))(t)
	cancel()
	require.NoError(t, <-ended)
	if shown := fake.Messages(channel); len(shown) != 2 || shown[1].Content != "answer" {
		t.Errorf("shown %+v", shown)
	}
	require.NoError(t, bot.Close())
	fake.Close()
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	if r := fake.Rejected(); len(r) > 0 {
		t.Errorf("rejected %+v; want none", r)
	}
}
