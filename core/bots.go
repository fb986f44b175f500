package core

import (
	"context"

	"parley/core/access"
	"parley/core/chat"
)

// fromBot reports whether a bot has asked. A bot is never told of a failure: it could answer that, without end.
func (x *execution) fromBot(ctx context.Context) bool {
	n := len(x.run.Inputs)
	if n == 0 || x.rt.cfg.Access.Bots != access.BotsMention {
		return false
	}
	var author chat.Entity
	err := x.persist(ctx, func() error {
		m, err := x.store.Memory(ctx, x.run.Inputs[n-1])
		if err == nil {
			author, err = x.store.Entity(ctx, m.Author)
		}
		return chat.Unless(err, chat.ErrNotFound)
	})
	return err == nil && author.Bot
}
