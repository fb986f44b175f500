package main

import (
	"context"
	"errors"
	"fmt"

	"parley"
)

// checkCmd tests the configuration.
type checkCmd struct{}

// Run prints a line for each finding, and returns an error if any check failed. Warnings don't count as failures.
func (*checkCmd) Run(ctx context.Context, c *cli) error {
	cfg, from, err := c.load()
	if err != nil {
		return err
	}
	fmt.Printf("ok    %-22s %s\n", "file", from)
	problems, warnings := 0, len(cfg.Warnings)
	for _, f := range parley.Check(ctx, cfg, parley.Env{Log: logger(cfg.Log)}) {
		word := "ok   "
		switch {
		case f.Doubt:
			word = "warn "
			warnings++
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
		fmt.Println(verdict(warnings))
		return nil
	case 1:
		return errors.New("1 problem to fix, marked FAIL above")
	}
	return fmt.Errorf("%d problems to fix, marked FAIL above", problems)
}

// verdict returns the last line of a check without problems.
func verdict(warnings int) string {
	switch warnings {
	case 0:
		return "Everything works."
	case 1:
		return "Everything works, with 1 warning (see above)."
	}
	return fmt.Sprintf("Everything works, with %d warnings (see above).", warnings)
}
