package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/internal/rest"

	goredis "github.com/redis/go-redis/v9"
)

const (
	nameFor   = 15 * time.Second // the time that a name stays with a store after all of its gateways have ended
	nameEvery = 3 * time.Second  // how often a gateway renews it
)

// ErrNameTaken is the error of [Backend.Join] if gateways with another store use the same name on this server. They
// would not share budgets and turns with this one, although the configuration says so, and both would exceed the
// platforms' limits.
var ErrNameTaken = errors.New("gateways with another store use this name on the same Redis; give all of them one store, or set another name as cluster")

// prefix returns the beginning of all keys and channels. It contains the store, because turn numbers start over in
// another one and must not be compared with those of an earlier store.
func (o Options) prefix() string {
	p := "parley:"
	for _, part := range []string{o.Name, o.Store} {
		if part != "" {
			p += part + ":"
		}
	}
	return p
}

// name is the claim of a name for one store, which lasts as long as gateways with that store run. It is nil if there is
// nothing to check.
type name struct {
	client     goredis.UniversalClient
	key, store string
}

func newName(client goredis.UniversalClient, o Options) *name {
	if o.Name == "" || o.Store == "" {
		return nil
	}
	return &name{client: client, key: nameKey(o.Name), store: o.Store}
}

// nameKey returns the key that holds the store of a name.
func nameKey(name string) string { return "parley:" + name + ":store" }

// take takes the name for the store, or renews it. It returns [ErrNameTaken], or another error if Redis doesn't respond
// within limit.
func (n *name) take(ctx context.Context) error {
	if n == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// One command sets the name if it is free and returns the earlier value: Nil means that it was free.
	holder, err := n.client.SetArgs(ctx, n.key, n.store, goredis.SetArgs{Mode: "NX", Get: true, TTL: nameFor}).Result()
	switch {
	case errors.Is(err, goredis.Nil):
		return nil
	case err != nil:
		return fmt.Errorf("redis: take the name: %w", err)
	case holder != n.store:
		return ErrNameTaken
	}
	if err := n.client.PExpire(ctx, n.key, nameFor).Err(); err != nil {
		return fmt.Errorf("redis: keep the name: %w", err)
	}
	return nil
}

// Holder returns the id of the store whose gateways have name; "" if none has it. It does not take the name, and fails
// if Redis does not respond.
func (b *Backend) Holder(ctx context.Context, name string) (store string, err error) {
	err = attempt(ctx, func(ctx context.Context) (err error) {
		store, err = b.client.Get(ctx, nameKey(name)).Result()
		return err
	})
	if errors.Is(err, goredis.Nil) {
		return "", nil
	} else if err != nil {
		return "", fmt.Errorf("redis: look up the name: %w", err)
	}
	return store, nil
}

// keepName renews the name until ctx is done. It logs when another store has taken it while Redis was unreachable, once
// for each time.
func (b *Backend) keepName(ctx context.Context) {
	if b.name == nil {
		return
	}
	taken := false
	for rest.For(ctx, nameEvery) == nil {
		if err := b.name.take(ctx); errors.Is(err, ErrNameTaken) != taken {
			taken = !taken
			if taken {
				b.log.Error("redis: budgets and turns are not shared with all gateways of this name; give them one store, or names of their own", "err", err)
			}
		}
	}
}
