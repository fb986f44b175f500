package storagetest

import (
	"context"

	"parley/core/storage"
)

//go:generate go run ./interceptgen

// An Interceptor is a store with a function around every call: it can count calls, delay them, let them fail, or observe them. A test that
// changes what one method does embeds [storage.Store] and declares that method instead; one that needs both puts one around the other.
type Interceptor struct {
	storage.Store
	// Around is called for each call. do makes the call of Store and returns its error. If Around returns an error, that is the error of the
	// method, and unless do returned the same one, the other results are zero. It is called concurrently if the store is.
	Around func(ctx context.Context, c Call, do func() error) error
}

// A Call is a call of a method of a store.
type Call struct {
	Method string
	Args   []any // without the context; variadic ones are a slice
}

func intercept(ctx context.Context, s *Interceptor, c Call, do func() error) error {
	return s.Around(ctx, c, do)
}

func intercept1[T any](ctx context.Context, s *Interceptor, c Call, do func() (T, error)) (v T, _ error) {
	v, _, err := intercept2(ctx, s, c, func() (T, struct{}, error) {
		v, err := do()
		return v, struct{}{}, err
	})
	return v, err
}

func intercept2[T, U any](ctx context.Context, s *Interceptor, c Call, do func() (T, U, error)) (v T, u U, _ error) {
	var own error
	err := s.Around(ctx, c, func() error {
		v, u, own = do()
		return own
	})
	if err != nil && err != own {
		return *new(T), *new(U), err
	}
	return v, u, err
}
