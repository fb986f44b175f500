package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"parley/config"
	"parley/internal/local"
)

// runsCmd manages runs that are set aside.
type runsCmd struct {
	List  listRunsCmd `cmd:"" default:"1" help:"List messages that are set aside because the gateway crashed each time it answered them (the default)."`
	Retry retryRunCmd `cmd:"" help:"Retry a run from the list."`
}

type listRunsCmd struct{}

// Run asks the running gateway of the configuration, or else opens its store.
func (*listRunsCmd) Run(ctx context.Context, cfg config.Config) error {
	runs, err := local.ListSetAside(ctx, cfg)
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		fmt.Println("Nothing is set aside.")
		return nil
	}
	w := table(os.Stdout)
	fmt.Fprintln(w, "RUN\tASKED\tCRASHES\tATTEMPTS\tQUESTION")
	for _, r := range runs {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\n", shown(string(r.Run)), r.Opened.Format(time.DateTime), r.Deaths, r.Attempts, shown(r.Question))
	}
	return w.Flush()
}

type retryRunCmd struct {
	ID string `arg:"" name:"run" help:"Run ID, such as '${platform}/1234#5'; quote it for the shell."`
}

// Run allows another attempt at a run; see [storage.Retries].
func (r *retryRunCmd) Run(ctx context.Context, cfg config.Config) error {
	if err := local.RetryRun(ctx, cfg, r.ID); err != nil {
		return err
	}
	fmt.Printf("%s will be retried, now or when the gateway starts.\n", shown(r.ID))
	return nil
}

// showCmd prints the receipt of an answer.
type showCmd struct {
	ID string `arg:"" name:"run" help:"Run ID, as in the line of the log; quote it for the shell."`
}

// Run prints the receipt of the run, of the running gateway or else of its store.
func (s *showCmd) Run(ctx context.Context, cfg config.Config) error {
	receipt, err := local.Receipt(ctx, cfg, s.ID)
	if err == nil {
		fmt.Println(receipt)
	}
	return err
}

// shown returns an untrusted text with everything but printable characters escaped.
func shown(text string) string { return strings.Trim(fmt.Sprintf("%q", text), `"`) }
