package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/term"
	"rsc.io/qr"

	"parley/internal/daemon"
	"parley/internal/local"
)

// initCmd sets up a gateway. Flags answer its questions in advance.
type initCmd struct {
	Token     string `help:"Token of a bot, or none for only the web chat."`
	APIURL    string `name:"api-url" placeholder:"URL" help:"Server of the bot's platform, if it is your own."`
	Model     string `placeholder:"KEY|URL" help:"API key of a model provider, the address of a server of your own, or demo."`
	ModelName string `placeholder:"NAME" help:"Name of the model, instead of one that is chosen for you."`
	Name      string `help:"Name of the agent."`
	Character string `placeholder:"TEXT" help:"Who the agent is, as a system prompt."`
	Listen    string `placeholder:"HOST:PORT" help:"Address of the web chat (default: 127.0.0.1:8080)."`
}

// mostTries is how often a question is asked again on a terminal after an answer that doesn't work.
const mostTries = 3

// maxAnswers is the maximum size of all answers, in bytes.
const maxAnswers = 64 << 10

// errLeft is the error of a user who leaves instead of answering.
var errLeft = errors.New("the setup was interrupted; run gateway init again")

// Run asks, tries each answer at the real service, and writes the files when all of them work. Answers can come from a pipe.
func (i *initCmd) Run(ctx context.Context, c *cli) error {
	to := filesFor(c.file())
	if err := to.writable(); err != nil {
		return err
	}
	ask := &asker{in: bufio.NewReader(io.LimitReader(os.Stdin, maxAnswers)), out: os.Stdout, terminal: term.IsTerminal(int(os.Stdin.Fd()))}
	if exists := to.existing(); exists != "" {
		answer, err := ask.line(ctx, exists+" exists already. Replace it? [yes/no]")
		if err != nil || !strings.EqualFold(answer, "yes") {
			return fmt.Errorf("nothing was changed: %s exists already; answer yes to replace it, or name another folder with --config DIR/config.yaml", exists)
		}
	}
	s := newSetup(to, func(text string) { fmt.Printf("ok    %s\n", text) })
	for _, step := range []func(context.Context, *initCmd, *asker) error{s.askWeb, s.askBot, s.askModel, s.askCharacter} {
		if err := ask.until(ctx, func() error { return step(ctx, i, ask) }); err != nil {
			return fmt.Errorf("%w (nothing was written)", err)
		}
	}
	if s.store != "" {
		if err := os.MkdirAll(filepath.Dir(machineStore), 0o700); err != nil { // the service takes it over
			return fmt.Errorf("make the folder of the store: %w (nothing was written)", err)
		}
	}
	if err := to.write(s.config(), s.env); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	fmt.Printf("\n%s and %s are written.\n", to.config, to.env)
	c.Config = to.config
	if err := s.invite(ctx, c); err != nil {
		return fmt.Errorf("the files are written, but the pairing code can't be made: %w; the gateway's log will show it", err)
	}
	fmt.Printf("Start the gateway with: %s\n", startOf(to.config))
	return nil
}

// thisProgram returns the command that was used for this program.
func thisProgram() string {
	if strings.Contains(os.Args[0], string(filepath.Separator)+"go-build") {
		return "go run ./cmd/gateway"
	}
	return shellWord(os.Args[0])
}

// shellWord returns a word as shells take it, quoted if it needs that.
func shellWord(s string) string {
	if strings.ContainsAny(s, " '&()") {
		return `"` + s + `"`
	}
	return s
}

// startOf returns the command that starts the gateway with a configuration; that of the machine is for the service.
func startOf(file string) string {
	switch {
	case file == defaultFile:
		return thisProgram()
	case file != machineConfig || runtime.GOOS != "linux":
		return thisProgram() + " --config " + shellWord(file)
	case packaged():
		return "sudo systemctl enable --now " + daemon.Name
	}
	return "sudo " + thisProgram() + " service install"
}

// packaged reports whether a package has installed the service of the machine.
func packaged() bool {
	_, err := os.Stat("/usr/lib/systemd/system/" + daemon.Name + ".service")
	return err == nil
}

// invite prints how to meet the bot, and how to become its owner.
func (s *setup) invite(ctx context.Context, c *cli) error {
	if s.platform == "" {
		return nil
	}
	cfg, _, err := c.load()
	if err != nil {
		return err
	}
	code, err := local.OwnerCode(ctx, cfg)
	if err != nil {
		return err
	}
	switch {
	case code == "":
		fmt.Printf("Your bot: %s\n", s.link)
		return printQR(s.link)
	case s.codeLink == "":
		fmt.Printf("Invite your bot: %s\nThen send it this code in a direct message, to become its owner: %s\n", s.link, code)
		return printQR(s.link)
	}
	fmt.Printf("When the gateway runs, open this link to become the owner: %s\n(Or send %s to the bot at %s.)\n", s.codeLink+code, code, s.link)
	return printQR(s.codeLink + code)
}

// printQR prints a QR code with two squares in each character, and a white margin, without which cameras don't find it.
func printQR(text string) error {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return fmt.Errorf("make the QR code: %w", err)
	}
	var b strings.Builder
	for y := -2; y < code.Size+2; y += 2 {
		for x := -2; x < code.Size+2; x++ {
			switch top, bottom := code.Black(x, y), code.Black(x, y+1); {
			case top && bottom:
				b.WriteRune(' ')
			case top:
				b.WriteRune('▄')
			case bottom:
				b.WriteRune('▀')
			default:
				b.WriteRune('█')
			}
		}
		b.WriteByte('\n')
	}
	_, err = io.WriteString(os.Stdout, b.String())
	return err
}

// asker asks questions, one line each.
type asker struct {
	in       *bufio.Reader
	out      io.Writer
	terminal bool
	asked    int
}

// line asks a question and returns the answer, without spaces around it. The end of a pipe is an empty answer, for which defaults
// apply. The end of a terminal, and of ctx, is [errLeft].
func (a *asker) line(ctx context.Context, question string) (string, error) {
	a.asked++
	fmt.Fprint(a.out, question+" ")
	line, err := readLine(ctx, a.in)
	if !a.terminal || err != nil {
		fmt.Fprintln(a.out)
	}
	if ctx.Err() != nil || err != nil && a.terminal {
		return "", errLeft
	}
	return strings.TrimSpace(line), nil
}

// readLine reads a line. It returns when ctx ends too: a read of standard input can't be interrupted, so that one then lasts as long as
// the process.
func readLine(ctx context.Context, in *bufio.Reader) (string, error) {
	type result struct {
		line string
		err  error
	}
	read := make(chan result, 1)
	go func() {
		line, err := in.ReadString('\n')
		read <- result{line, err}
	}()
	select {
	case r := <-read:
		return r.line, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// or returns the value of a flag, or else asks.
func (a *asker) or(ctx context.Context, flag, question string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	return a.line(ctx, question)
}

// until calls a step until it works. On a terminal it is called again after a wrong answer; a pipe has no other answers.
func (a *asker) until(ctx context.Context, step func() error) error {
	for try := 1; ; try++ {
		before := a.asked
		err := step()
		if ctx.Err() != nil {
			return errLeft
		}
		if err == nil || !a.terminal || a.asked == before || try == mostTries || errors.Is(err, errLeft) {
			return err
		}
		fmt.Fprintln(a.out, err.Error())
	}
}
