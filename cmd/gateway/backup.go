package main

import (
	"context"
	"errors"
	"fmt"

	"parley"
	"parley/backends"
	"parley/config"
)

// backupCmd copies the store.
type backupCmd struct {
	File string `arg:"" optional:"" help:"New file for the copy."`
}

// Run writes the backup, whether or not a gateway runs. It needs no help of a running gateway: see [backends.Backup].
func (b *backupCmd) Run(ctx context.Context, cfg config.Config) error {
	if b.File == "" {
		return errors.New("no file given; name a new one for the copy: gateway backup FILE")
	}
	if b.File == "-" {
		return errors.New("a backup can't be written to standard output, because it is opened and checked; name a new file: gateway backup FILE")
	}
	made, err := backends.Backup(ctx, cfg.Store.Reveal(), b.File)
	if err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	fmt.Printf("%s has a copy of the store with %d messages (%d KB). It was opened and checked.\n", b.File, made.Messages, made.Size/1000)
	return nil
}

// restoreCmd replaces the store by a backup.
type restoreCmd struct {
	File       string `arg:"" optional:"" help:"The backup."`
	Incomplete bool   `help:"Restore a backup that is so old that not all deletions since then are known."`
	Confirm    bool   `help:"Let schedules and reminders continue after a restore."`
}

// Run restores, or confirms an earlier restore.
func (r *restoreCmd) Run(ctx context.Context, cfg config.Config) error {
	if r.Confirm {
		held, err := parley.ConfirmRestore(ctx, cfg)
		if err == nil && !held {
			fmt.Println("Nothing is held.")
		} else if err == nil {
			fmt.Println("Schedules and reminders continue.")
		}
		return err
	}
	if r.File == "" || r.File == "-" {
		return errors.New("no backup given; restore one with gateway restore FILE, or let schedules continue with gateway restore --confirm")
	}
	done, err := parley.Restore(ctx, cfg, r.File, r.Incomplete)
	if _, used := backends.InUse(err); used {
		return fmt.Errorf("%w; stop it first", err)
	} else if errors.Is(err, backends.ErrIncomplete) {
		return fmt.Errorf("%w, so people's deleted messages would come back; restore a newer backup, or add --incomplete", err)
	} else if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	fmt.Printf("%d messages were restored. %d answers that had not ended were dropped, and %d deletions since the backup were repeated.\n", done.Messages, done.Runs, done.Deletions)
	if done.Replaced != "" {
		fmt.Printf("The earlier store is now %s; delete it when you don't need it.\n", done.Replaced)
	}
	fmt.Println("Start the gateway. Schedules and reminders wait until you run: gateway restore --confirm")
	return nil
}
