package main

import (
	"context"
	"errors"
	"fmt"

	"parley"
)

type checkCmd struct{}

// Run implements the command. It fails if anything that was tried fails.
func (*checkCmd) Run(ctx context.Context, c *cli) error {
	cfg, from, err := c.load()
	if err != nil {
		return err
	}
	fmt.Printf("ok    %-22s %s\n", "file", from)
	problems := 0
	for _, f := range parley.Check(ctx, cfg, parley.Env{Log: logger(cfg.Log)}) {
		word := "ok   "
		switch {
		case f.Doubt:
			word = "warn "
		case !f.OK:
			word = "FAIL "
			problems++
		}
		fmt.Printf("%s %-22s %s\n", word, f.Part, f.Text)
	}
	for _, line := range cfg.Warnings {
		fmt.Printf("warn  %s\n", line)
	}
	for _, line := range cfg.Off() {
		fmt.Printf("off   %s\n", line)
	}
	switch problems {
	case 0:
		return nil
	case 1:
		return errors.New("one thing needs your attention")
	}
	return fmt.Errorf("%d things need your attention", problems)
}
