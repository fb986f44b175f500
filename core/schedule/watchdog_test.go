package schedule_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/core/chat"
	"parley/core/schedule"
)

// brokenStore fails to list rooms, or else the runs of a room.
type brokenStore struct{ rooms bool }

var errBroken = errors.New("the store is broken")

func (s brokenStore) OpenRooms(context.Context) ([]chat.RoomID, error) {
	if s.rooms {
		return nil, errBroken
	}
	return []chat.RoomID{"room"}, nil
}

func (s brokenStore) OpenRuns(context.Context, chat.RoomID) ([]chat.Run, error) {
	return nil, errBroken
}

type noLimit struct{ schedule.Executor }

func (noLimit) Policy() schedule.TurnPolicy { return schedule.TurnPolicy{} }

// A check that the store refuses is logged: silence would look like a gateway without overdue answers.
func TestWatchdogLogsFailures(t *testing.T) {
	for _, rooms := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			w := &schedule.Watchdog{Store: brokenStore{rooms}, Executor: noLimit{}, Log: slog.New(slog.NewTextHandler(&log, nil))}
			ctx, cancel := context.WithTimeout(t.Context(), 13*schedule.HeartbeatEvery+time.Second)
			defer cancel()
			w.Run(ctx)
			if !strings.Contains(log.String(), errBroken.Error()) {
				t.Errorf("with rooms=%v it logs %q; want the error of the store", rooms, log.String())
			}
		})
	}
}
