package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"parley/config"
	"parley/connectors/web/identity"
	"parley/core/chat"
	"parley/internal/local"
)

// keysCmd manages the API keys of programs.
type keysCmd struct {
	Create createKeyCmd `cmd:"" help:"Create a key and print it, once: only its hash is stored."`
	List   listKeysCmd  `cmd:"" default:"1" help:"List the keys (the default)."`
	Revoke revokeKeyCmd `cmd:"" help:"Revoke a key. Every gateway refuses it within five seconds."`
}

// keys returns the keys of the running gateway of the configuration, or else those in its store.
func keys(cfg config.Config) (identity.Keys, error) {
	return identity.Keys{Store: local.State{Config: cfg, Create: true}}, nil
}

type createKeyCmd struct {
	Name      string   `arg:"" help:"What the key is for."`
	Scope     []string `help:"What it allows: read (GET requests), write (all others)." enum:"read,write" default:"read,write"`
	PerMinute int      `help:"Messages per minute; 0 = as a visitor, see web.limits." default:"0"`
	Days      int      `help:"How many days it is valid." default:"90"`
}

const (
	maxKeyDays = 3650
	maxKeyName = 60 // bytes
)

// Run prints the key.
func (k *createKeyCmd) Run(ctx context.Context, keys identity.Keys) error {
	switch {
	case k.Days < 1 || k.Days > maxKeyDays:
		return fmt.Errorf("--days is not between 1 and %d", maxKeyDays)
	case k.PerMinute < 0:
		return errors.New("--per-minute is negative")
	case k.Name == "" || len(k.Name) > maxKeyName:
		return fmt.Errorf("the name has not 1 to %d bytes", maxKeyName)
	}
	text, made, err := keys.Create(ctx, identity.Key{Name: k.Name, Scopes: k.Scope, PerMinute: k.PerMinute, Ends: time.Now().AddDate(0, 0, k.Days)})
	if errors.Is(err, chat.ErrTooMany) {
		return fmt.Errorf("there are %d keys; revoke some first", identity.MaxKeys)
	}
	if err != nil {
		return err
	}
	fmt.Println(text)
	fmt.Fprintf(os.Stderr, "This is the only time that the key %s is shown. It ends on %s. Send it as: Authorization: Bearer KEY\n", made.ID, made.Ends.Format(time.DateOnly))
	return nil
}

type listKeysCmd struct{}

// Run prints the keys without their texts.
func (*listKeysCmd) Run(ctx context.Context, keys identity.Keys) error {
	all, err := keys.List(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Println("There are no API keys.")
		return nil
	}
	w := table(os.Stdout)
	fmt.Fprintln(w, "ID\tNAME\tSCOPES\tSINCE\tENDS")
	for _, k := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", k.ID, shown(k.Name), strings.Join(k.Scopes, ","), k.Since.Format(time.DateOnly), k.Ends.Format(time.DateOnly))
	}
	return w.Flush()
}

type revokeKeyCmd struct {
	ID string `arg:"" help:"The id of the key, as gateway keys list prints it."`
}

// Run deletes the key.
func (k *revokeKeyCmd) Run(ctx context.Context, keys identity.Keys) error {
	if err := keys.Revoke(ctx, k.ID); errors.Is(err, chat.ErrNotFound) {
		return fmt.Errorf("there is no key %s; gateway keys list shows them", shown(k.ID))
	} else if err != nil {
		return err
	}
	fmt.Printf("The key %s is revoked.\n", shown(k.ID))
	return nil
}
