package local

import (
	"context"

	"parley/config"
)

// keepRequest is a value to store under a name.
type keepRequest struct{ Name, Value string }

// The login at a server can come before the first start, so this command creates the store.
var keep = command[keepRequest, struct{}]{name: "keep", creates: true, do: func(ctx context.Context, store Store, _ Runtime, req keepRequest) (struct{}, error) {
	return struct{}{}, store.Keep(ctx, req.Name, req.Value)
}}

// Keep stores a value under a name at the running gateway of cfg, or in its store if none runs. It fails if neither can
// be reached.
func Keep(ctx context.Context, cfg config.Config, name, value string) error {
	_, err := keep.run(ctx, cfg, keepRequest{name, value})
	return err
}

var kept = command[keepRequest, string]{name: "kept", do: func(ctx context.Context, store Store, _ Runtime, req keepRequest) (string, error) {
	return store.Kept(ctx, req.Name)
}}

// swapRequest is a value to store under a name where old is stored.
type swapRequest struct{ Name, Old, Value string }

var swap = command[swapRequest, bool]{name: "swap", do: func(ctx context.Context, store Store, _ Runtime, req swapRequest) (bool, error) {
	return store.Swap(ctx, req.Name, req.Old, req.Value)
}}

// State is the stored values whose names begin with a prefix, at the running gateway of a configuration, or in its
// store if none runs.
type State struct {
	Config config.Config
	Prefix string
	Create bool // without a gateway, a store that does not exist yet is created
}

// Kept returns the value under name, or "". It fails if neither a gateway nor its store can be reached.
func (s State) Kept(ctx context.Context, name string) (string, error) {
	c := kept
	c.creates = s.Create
	return c.run(ctx, s.Config, keepRequest{Name: s.Prefix + name})
}

// Swap stores value under name if old is the value there, where "" is none. It reports whether it was, and fails like
// Kept.
func (s State) Swap(ctx context.Context, name, old, value string) (bool, error) {
	c := swap
	c.creates = s.Create
	return c.run(ctx, s.Config, swapRequest{s.Prefix + name, old, value})
}
