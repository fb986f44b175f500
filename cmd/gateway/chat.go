package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/term"

	"parley"
	"parley/config"
	"parley/connectors/terminal"
	"parley/internal/lang"
	"parley/internal/local"
)

// chatCmd chats with the agent over the web API. If no gateway is running, it runs one itself for the duration.
type chatCmd struct {
	Prompt   *string `short:"p" placeholder:"TEXT" help:"Ask this, print the answer to standard output, and exit. Piped input is appended to the question. Starts a new conversation. Choices and notices go to standard error."`
	JSON     bool    `name:"json" help:"Print every event as a line of JSON."`
	New      bool    `help:"Start a new conversation instead of continuing the last one."`
	Continue bool    `help:"With -p: continue the last conversation."`
	URL      string  `name:"url" placeholder:"URL" help:"Gateway to talk to, such as http://127.0.0.1:8080 (default: the one in the config file)."`
}

// Run implements the command.
func (c *chatCmd) Run(ctx context.Context, top *cli) error {
	cfg, _, err := top.load()
	if err != nil {
		return err
	}
	ask := ""
	if c.Prompt != nil {
		if ask, err = question(ctx, *c.Prompt, os.Stdin, os.Stderr); err != nil {
			return err
		}
	}
	url, end, err := c.gateway(ctx, cfg)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGPIPE) // writes fail instead, which stops the answer
	if err = c.talk(ctx, cfg, url, ask); errors.Is(err, syscall.EPIPE) {
		err = nil // the reader of the output has closed it
	}
	return errors.Join(err, end())
}

// gateway returns the address of the running gateway of this configuration, or runs one without its bots until end is
// called. Bots are left out because a short chat must not take over their connections.
func (c *chatCmd) gateway(ctx context.Context, cfg config.Config) (url string, end func() error, err error) {
	nothing := func() error { return nil }
	if c.URL != "" {
		return strings.TrimSuffix(c.URL, "/"), nothing, nil
	}
	g, err := parley.New(cfg.WithoutConnectors(), parley.Env{Log: quiet(cfg.Log), Listen: listenSomewhere})
	switch {
	case errors.Is(err, parley.ErrRunning):
		if url, ok := local.URL(cfg); ok {
			return url, nothing, nil
		}
		return "http://" + reachable(cfg.Web.Listen), nothing, nil
	case err != nil:
		return "", nil, err
	}
	// The gateway outlives the interrupt of the chat, so that the answer can be stopped and stored; end stops it.
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	return "http://" + reachable(g.Addr().String()), func() error { stop(); return <-ended }, nil
}

// listenSomewhere listens on another local port if the configured one is taken.
func listenSomewhere(network, address string) (net.Listener, error) {
	l, err := net.Listen(network, address)
	if err != nil {
		return net.Listen(network, "127.0.0.1:0")
	}
	return l, nil
}

// reachable returns the address of a listener for clients on this machine.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// quiet returns a logger that writes nothing if standard error is the terminal of the chat, whose screen it would
// disturb.
func quiet(cfg config.Log) *slog.Logger {
	if term.IsTerminal(int(os.Stderr.Fd())) {
		return slog.New(slog.DiscardHandler)
	}
	return logger(cfg)
}

// talk runs the conversation: one question with ask, otherwise until the end of the input. It continues the last
// conversation unless told otherwise; only conversations with the gateway of this configuration are remembered, not
// those with --url.
func (c *chatCmd) talk(ctx context.Context, cfg config.Config, url, ask string) error {
	last := lastConversation(cfg)
	id := ""
	if goesOn := ask == "" && !c.New || c.Continue; goesOn && c.URL == "" {
		var err error
		if id, err = last.read(); err != nil {
			return err
		}
	}
	// The user who can read the gateway's token is the owner.
	client, err := terminal.OpenAsOwner(ctx, url, id, func() string { return local.Token(cfg, url) })
	if err != nil {
		return fmt.Errorf("%w; is that gateway running at %s? --url names another address", err, url)
	}
	client.Locale = cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_MESSAGES"), os.Getenv("LANG"))
	if c.URL == "" && client.Conversation() != id {
		if err := last.write(client.Conversation()); err != nil {
			return err
		}
	}
	script := terminal.Script{Client: client, Out: os.Stdout, JSON: c.JSON}
	if !c.JSON {
		script.Notes = os.Stderr
	}
	if last != "" && c.URL == "" {
		script.Choosing = "Choose from another terminal: gateway chat --continue -p NUMBER"
	}
	atTerminal := term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
	switch dumb := os.Getenv("TERM") == "dumb"; { // it does not support cursor movement
	case ask != "":
		return script.Ask(ctx, ask)
	case atTerminal && dumb && !c.JSON:
		script.Prompt = "> "
		return script.Each(ctx, os.Stdin)
	case !atTerminal || c.JSON:
		return script.Each(ctx, os.Stdin)
	}
	chat := terminal.Chat{
		Client: client, In: os.Stdin, Out: os.Stdout, Color: os.Getenv("NO_COLOR") == "",
		Welcome: lang.In(client.Locale).Say("terminal.welcome", "agent", cfg.Agent.Name, "address", url),
	}
	return chat.Run(ctx)
}

// lastConversation returns the file next to the store that holds the id of the last conversation.
func lastConversation(cfg config.Config) conversationFile {
	return conversationFile(local.Beside(cfg, ".chat"))
}

// conversationFile is the name of a file that holds the id of a conversation. An empty name stores nothing, as for
// stores that are no files.
type conversationFile string

func (f conversationFile) read() (string, error) {
	if f == "" {
		return "", nil
	}
	id, err := os.ReadFile(string(f))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("find the last conversation: %w", err)
	}
	return strings.TrimSpace(string(id)), nil
}

// write stores id in a file that only its owner can read, because the id gives access to the conversation.
func (f conversationFile) write(id string) error {
	if f == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(string(f)), 0o700); err != nil {
		return fmt.Errorf("save the conversation: %w", err)
	}
	if err := os.WriteFile(string(f), []byte(id+"\n"), 0o600); err != nil {
		return fmt.Errorf("save the conversation: %w", err)
	}
	return nil
}
