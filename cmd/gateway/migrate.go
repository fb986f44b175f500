package main

import (
	"context"
	"fmt"

	"parley/backends"
	"parley/config"
)

// migrateCmd updates a store, or moves it to another one.
type migrateCmd struct {
	To string `placeholder:"URL" help:"Copy the configured SQLite file to this empty PostgreSQL database, such as 'postgres://USER:PASSWORD@HOST/DATABASE'."`
}

// Run updates the tables of the configured store, as the next start would. With a destination it copies the store there
// instead.
func (m *migrateCmd) Run(ctx context.Context, cfg config.Config) error {
	if m.To == "" {
		if err := backends.Migrate(ctx, cfg.Store.Reveal()); err != nil {
			return err
		}
		fmt.Printf("%s is up to date.\n", cfg.Store)
		return nil
	}
	err := backends.Move(ctx, cfg.Store.Reveal(), m.To, func(table string, rows int) {
		fmt.Printf("%8d  %s\n", rows, table)
	})
	if _, used := backends.InUse(err); used {
		return fmt.Errorf("%w; stop it first", err)
	} else if err != nil {
		return err
	}
	fmt.Printf("All rows were copied and compared. Set store to %s, with its password; %s stays as it was.\n", config.DSN(m.To), cfg.Store)
	return nil
}
