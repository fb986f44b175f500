package local

import (
	"context"

	"parley/config"
)

// keepRequest is a value to store under a name.
type keepRequest struct{ Name, Value string }

var keep = command[keepRequest, struct{}]{"keep", func(ctx context.Context, store Store, _ Runtime, req keepRequest) (struct{}, error) {
	return struct{}{}, store.Keep(ctx, req.Name, req.Value)
}}

// Keep stores a value under a name at the running gateway of cfg, or in its store if none runs.
func Keep(ctx context.Context, cfg config.Config, name, value string) error {
	_, err := keep.run(ctx, cfg, keepRequest{name, value})
	return err
}
