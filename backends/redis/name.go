package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

const (
	nameFor   = 15 * time.Second // how long a name stays with a store whose gateways have all gone
	nameEvery = 3 * time.Second
)

// ErrNameTaken means that gateways with another store use the same name on this server. They would not share their budgets
// and turns with this one, although the configuration says so.
var ErrNameTaken = errors.New("gateways with another store use this name on the same Redis; give all of them one store, or set another name as cluster")

// prefix of all keys and channels. The store is part of it: another store starts its turn numbers over, and must not find those
// of an older one.
func (o Options) prefix() string {
	p := "parley:"
	for _, part := range []string{o.Name, o.Store} {
		if part != "" {
			p += part + ":"
		}
	}
	return p
}

// name belongs to one store as long as gateways with that store run. A nil name is not checked.
type name struct {
	client     goredis.UniversalClient
	key, store string
}

func newName(client goredis.UniversalClient, o Options) *name {
	if o.Name == "" || o.Store == "" {
		return nil
	}
	return &name{client: client, key: "parley:" + o.Name + ":store", store: o.Store}
}

// take takes the name for the store, or keeps it. It fails with [ErrNameTaken], or with another error if Redis does not
// respond within [limit].
func (n *name) take(ctx context.Context) error {
	if n == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
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

// keepName keeps the name until ctx is done. It logs once if another store has taken it while Redis was out of reach.
func (b *Backend) keepName(ctx context.Context) {
	if b.name == nil {
		return
	}
	tick := time.NewTicker(nameEvery)
	defer tick.Stop()
	taken := false
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := b.name.take(ctx); errors.Is(err, ErrNameTaken) != taken {
			taken = !taken
			if taken {
				b.log.Error("redis: budgets and turns are not shared with all gateways of this name; give them one store, or names of their own", "err", err)
			}
		}
	}
}
