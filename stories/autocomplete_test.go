package stories_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/config"
	"parley/connectors/connectortest"
	"parley/connectors/connectortest/discordworld"
	"parley/core/chat"
	"parley/models/modelfake"
)

// suggested are the suggestions for the option of a command that a user is writing.
func suggested(c *chatHarness, w *discordworld.Platform, who connectortest.User, in connectortest.Room, command, typed string) (labels []string) {
	c.Helper()
	w.Fake.Autocomplete(string(in), w.User(who), command, "which", typed)
	c.Pass(3 * time.Second)
	all := w.Fake.PressAnswers()
	if a := all[len(all)-1]; a.Type == 8 && a.After < 3*time.Second {
		for _, choice := range a.Choices {
			labels = append(labels, choice.Name)
		}
	} else {
		c.Errorf("/%s %s is answered with %+v", command, typed, a)
	}
	return labels
}

// Discord completes /model with the models that the user can choose, and /forget with what the bot remembers about the user. Others get a
// sentence.
func TestDiscordAutocomplete(t *testing.T) {
	several := func(cfg *config.Config) {
		cfg.Models.Chat = []config.ChatModel{
			{Name: "main", Provider: config.ProviderOpenAI, Model: modelfake.DefaultModel}, {Name: "fast", Provider: config.ProviderOpenAI, Model: "small-1"},
		}
	}
	onPlatform(t, platforms()[1], several, func(c *chatHarness) {
		w := c.Platform.(*discordworld.Platform)
		ownedByAda(c)
		want := func(who connectortest.User, command, typed string, labels ...string) {
			c.Helper()
			if got := suggested(c, w, who, c.group, command, typed); !slices.Equal(got, labels) {
				c.Errorf("%s writes /%s %s: suggested are %q; want %q", who, command, typed, got, labels)
			}
		}
		want(connectortest.Ada, "model", "", "main", "fast")
		want(connectortest.Ada, "model", "FA", "fast")
		want(connectortest.Bob, "model", "") // only staff switch in servers
		want(connectortest.Eve, "model", "", "I only talk to people my owner has approved.")
		c.Mention(connectortest.Bob, c.group, "Hi")
		c.Pass(10 * time.Second)
		bob, now := chat.EntityID("discord/"+w.User(connectortest.Bob)), time.Now()
		c.Must(c.Store.SaveNote(c.Context(), chat.RoomNote{Room: c.groupRoom().ID, Kind: chat.FactNote, Key: "tea", About: bob, Text: "Bob: likes Assam", At: now}))
		before := w.Transcript(connectortest.Bob, c.group)
		if got := suggested(c, w, connectortest.Bob, c.group, "forget", "assam"); len(got) != 1 || !strings.HasPrefix(got[0], "1. Bob: likes Assam") {
			c.Errorf("Bob can forget %q", got)
		}
		want(connectortest.Ada, "forget", "")
		if got := w.Transcript(connectortest.Bob, c.group); got != before {
			c.Errorf("Bob reads %q; want nothing new", got)
		}
	})
}

// A prompt of an MCP server is a slash command with its arguments as options. It means what the same words mean in a message.
func TestDiscordMCPPrompt(t *testing.T) {
	onDiscord(t, func(c *chatHarness, w *discordworld.Platform) {
		server := sdk.NewServer(&sdk.Implementation{Name: "shop", Version: "1"}, nil)
		server.AddPrompt(&sdk.Prompt{Name: "Review", Description: "Review a file", Arguments: []*sdk.PromptArgument{{Name: "focus"}, {Name: "File Name", Description: "Which file", Required: true}}},
			func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
				text := fmt.Sprintf("Review %s with care for %s.", r.Params.Arguments["File Name"], r.Params.Arguments["focus"])
				return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}}}, nil
			})
		web := &http.Server{Handler: sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})}
		l := c.listen(toolsAt)
		go func() { _ = web.Serve(l) }()
		c.Cleanup(func() { _ = web.Close() })
		c.shutdown()
		c.cfg.MCP = []config.MCPServer{{Name: "shop", URL: "http://tools.test/", Who: config.ToolsAllowed, Timeout: time.Minute}}
		c.start()
		c.Pass(2 * time.Minute)
		if !slices.Contains(w.Fake.Commands(w.Guild()), "review") {
			c.Fatalf("users see %q", w.Fake.Commands(w.Guild()))
		}
		w.Command(connectortest.Ada, c.group, "review", "file_name", "main.go", "focus", "my style")
		c.Pass(20 * time.Second)
		if p := c.modelRequest(0); !strings.Contains(p, "Review main.go with care for my style.") {
			c.Errorf("the prompt is %s", p)
		}
	})
}
