package storagetest

import (
	"context"
	"errors"
	"testing"

	"parley/core/chat"
	"parley/internal/require"
)

// The interceptor passes arguments and results on, and hides the results of a call whose error is not the store's own.
func TestInterceptor(t *testing.T) {
	lost := errors.New("lost")
	for name, c := range map[string]struct {
		around func(do func() error) error
		id     chat.RoomID
		want   chat.Room
		err    error
	}{
		"passed on":         {func(do func() error) error { return do() }, "room", chat.Room{ID: "room"}, nil},
		"the store's error": {func(do func() error) error { return do() }, "elsewhere", chat.Room{}, chat.ErrNotFound},
		"not made":          {func(func() error) error { return lost }, "room", chat.Room{}, lost},
		"made, then lost":   {func(do func() error) error { _ = do(); return lost }, "room", chat.Room{}, lost},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewStoreModel()
			require.NoError(t, s.SaveRoom(t.Context(), chat.Room{ID: "room"}))
			var seen Call
			i := &Interceptor{Store: s, Around: func(_ context.Context, call Call, do func() error) error {
				seen = call
				return c.around(do)
			}}
			got, err := i.Room(t.Context(), c.id)
			if got.ID != c.want.ID || !errors.Is(err, c.err) {
				t.Errorf("Room returned %+v, %v; want %+v, %v", got, err, c.want, c.err)
			}
			if seen.Method != "Room" || len(seen.Args) != 1 || seen.Args[0] != c.id {
				t.Errorf("the call was %+v; want the method and its arguments", seen)
			}
		})
	}
}
