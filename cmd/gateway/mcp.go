package main

import (
	"bufio"
	"context"
	"fmt"
	"os"

	"parley"
	"parley/config"
)

// mcpCmd manages MCP servers.
type mcpCmd struct {
	Login mcpLoginCmd `cmd:"" help:"Log in to an MCP server with oauth.enabled, with a browser."`
}

// mcpLoginCmd logs in to an MCP server with OAuth.
type mcpLoginCmd struct {
	Name string `arg:"" help:"The name of the server in the configuration."`
}

// loginText explains the login. On another machine than the browser's, the redirect to this one can't be followed, so
// the address that it leads to is pasted.
const loginText = `Open this address in a browser and log in:

  %s

If the browser runs on another machine, it ends on a page that can't be loaded. Paste the address of that page here, and press Enter.
`

// Run waits until the browser is redirected here, or its address is pasted.
func (l *mcpLoginCmd) Run(ctx context.Context, cfg config.Config) error {
	pasted := make(chan string)
	go func() { // ends with the process, as reading from a terminal can't be canceled
		if line, err := bufio.NewReader(os.Stdin).ReadString('\n'); err == nil {
			pasted <- line
		}
	}()
	if err := parley.LoginMCP(ctx, cfg, l.Name, func(address string) { fmt.Printf(loginText, address) }, pasted); err != nil {
		return err
	}
	fmt.Printf("The gateway is logged in to %s.\n", l.Name)
	return nil
}
