package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"parley"
)

type pairCmd struct {
	Code   string `arg:"" optional:"" help:"What somebody was told who wants to talk to the bot."`
	List   bool   `help:"Say who was let in, and who waits."`
	Remove string `placeholder:"ACCOUNT" help:"Let somebody in no more, such as telegram:123456789."`
}

// Run implements the command. A running gateway of the configuration is asked; else its store is opened.
func (p *pairCmd) Run(ctx context.Context, c *cli) error {
	cfg, _, err := c.load()
	if err != nil {
		return err
	}
	switch {
	case p.Code != "":
		who, err := parley.LetIn(ctx, cfg, p.Code)
		if err != nil {
			return err
		}
		fmt.Printf("%s is let in.\n", named(who))
		return nil
	case p.Remove != "":
		if err := parley.Dismiss(ctx, cfg, p.Remove); err != nil {
			return err
		}
		fmt.Printf("%s is let in no more.\n", p.Remove)
		return nil
	case !p.List:
		return errors.New("which code? gateway pair CODE lets in who was told it, gateway pair --list says who is in")
	}
	people, err := parley.ListPeople(ctx, cfg)
	if err != nil {
		return err
	}
	for _, who := range people.In {
		word := "in"
		if who.Owner {
			word = "owner"
		}
		fmt.Printf("%-6s %s\n", word, named(who))
	}
	if people.OwnerCode != "" {
		fmt.Printf("There is no owner yet. Send this code to a bot in a direct chat to become the owner: %s\n", people.OwnerCode)
	}
	for _, k := range people.Waiting {
		fmt.Printf("%-6s %s\n", "waits", named(k.Person))
	}
	return nil
}

// named is somebody as people know them, and as --remove takes them. Names are others' words: nothing of them reaches the
// terminal but what can be seen.
func named(p parley.Person) string {
	account := strings.Replace(string(p.ID), "/", ":", 1)
	if p.Name == "" {
		return account
	}
	return fmt.Sprintf("%s (%s)", account, strings.Trim(fmt.Sprintf("%q", p.Name), `"`))
}
