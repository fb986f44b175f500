package main

import (
	"context"
	"errors"
	"fmt"

	"parley/config"
	"parley/core/chat"
	"parley/internal/local"
)

// pairCmd manages who can talk to the agent.
type pairCmd struct {
	Code   string `arg:"" optional:"" help:"The code of the user to approve."`
	Web    bool   `help:"Print a code that makes a browser the owner's: enter it on the page /login of the web chat, or on /admin, within five minutes."`
	List   bool   `help:"List approved and waiting users, and the owner's browsers."`
	Remove string `placeholder:"ACCOUNT" help:"Revoke the access of a user, such as ${account}, or of a browser, as --list names it."`
}

// Run asks the running gateway of the configuration, or else opens its store.
func (p *pairCmd) Run(ctx context.Context, cfg config.Config) error {
	switch {
	case p.Web:
		return pairBrowser(ctx, cfg)
	case p.Code != "":
		who, err := local.Approve(ctx, cfg, p.Code)
		if err != nil {
			return err
		}
		fmt.Printf("%s is approved.\n", named(who))
		return nil
	case p.Remove != "":
		if err := local.Revoke(ctx, cfg, p.Remove); err != nil {
			return err
		}
		fmt.Printf("%s no longer has access.\n", p.Remove)
		return nil
	case !p.List:
		return errors.New("no code given; approve a user with gateway pair CODE, log in with a browser with gateway pair --web, or list users with gateway pair --list")
	}
	people, err := local.ListPeople(ctx, cfg)
	if err != nil {
		return err
	}
	for _, who := range people.Approved {
		word := "approved"
		if who.Owner {
			word = "owner"
		}
		fmt.Printf("%-8s %s\n", word, named(who))
	}
	for _, b := range people.Browsers {
		fmt.Printf("%-8s browser:%s (%s, since %s)\n", "owner", b.ID, b.Device, b.Since.Local().Format("2006-01-02 15:04"))
	}
	if people.OwnerCode != "" {
		fmt.Printf("There is no owner yet. Send this code to the bot in a direct message to become the owner: %s\n", people.OwnerCode)
	}
	for _, k := range people.Waiting {
		fmt.Printf("%-8s %s\n", "waiting", named(k.Person))
	}
	if len(people.Approved)+len(people.Waiting) == 0 && people.OwnerCode == "" {
		fmt.Println("No users are approved, and none wait for approval.")
	}
	return nil
}

// pairBrowser prints a code for a browser, and where to enter it.
func pairBrowser(ctx context.Context, cfg config.Config) error {
	code, err := local.WebCode(ctx, cfg)
	if err != nil {
		return err
	}
	page := "http://" + reachable(cfg.Web.Listen)
	if url, ok := local.URL(cfg); ok {
		page = url
	}
	fmt.Printf("%s\nOpen %s/login, or the page /login where your web chat is served, and enter this code within five minutes.\n"+
		"The browser is then the owner's for 30 days. gateway pair --list shows it.\n"+
		"The operator's page, at /admin, takes this code too.\n", code, page)
	return nil
}

// named formats a user in the form that --remove takes. Names are chosen by strangers, so only printable characters
// reach the terminal: others could move its cursor and forge lines.
func named(p chat.Person) string {
	if p.Name == "" {
		return p.ID.Account()
	}
	return fmt.Sprintf("%s (%s)", p.ID.Account(), shown(p.Name))
}
