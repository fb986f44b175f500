package tasks

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/core/chat"
	"parley/internal/rest"
)

const (
	lookEvery = 5 * time.Second
	lateBy    = 5 * time.Minute // from then on a time is missed
)

// work does each task when it is due, until ctx is done. A schedule whose room or store is slow holds up no other.
func (t *Tasks) work(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for _, s := range t.Schedules {
		all.Go(func() { (&keeper{Tasks: t, Schedule: s}).work(ctx) })
	}
}

// keeper keeps one schedule. It belongs to one goroutine. Up to where the schedule was kept is stored, together with
// its specification: a changed schedule starts again, so that no time of the new one counts as missed.
type keeper struct {
	*Tasks
	Schedule
	last time.Time // the newest time that is dealt with; zero if it is not known yet

	minute, newest time.Time // the last result of the times, and its minute
}

// work starts due tasks, until ctx is done.
func (k *keeper) work(ctx context.Context) {
	for range rest.Every(ctx, lookEvery) {
		if err := k.startDue(ctx, time.Now()); err != nil && ctx.Err() == nil {
			k.Log.Error("a schedule can't be kept; it will be retried", "schedule", k.Name, "err", err)
		}
	}
}

// startDue starts the due task. If the process dies before it records that, the task is started again under the
// same key, which has no effect.
func (k *keeper) startDue(ctx context.Context, now time.Time) error {
	if k.last.IsZero() {
		if err := k.begin(ctx, now); err != nil {
			return err
		}
	}
	at := k.due(now)
	if at.IsZero() {
		return nil
	}
	when := at.Add(k.delay(at))
	awake := k.Quiet.Until(when)
	switch {
	case k.Drop && !awake.Equal(when):
		k.Log.Info("a schedule was due in quiet hours; it is left out", "schedule", k.Name, "at", at)
	case k.Quiet.Until(now).After(now):
		return nil // until they end
	case !k.Once && now.Sub(awake) > lateBy:
		k.Log.Warn("a schedule was due while the gateway was not running; it is left out", "schedule", k.Name, "at", at)
	default:
		if err := k.do(ctx, at); err != nil {
			return err
		}
	}
	return k.settle(ctx, at)
}

// due returns the newest time that is not dealt with and whose delay is over; zero if there is none. Older ones are
// left out: a task that was missed several times is done once.
func (k *keeper) due(now time.Time) time.Time {
	if minute := now.Truncate(time.Minute); !minute.Equal(k.minute) { // times are whole minutes
		k.minute, k.newest = minute, k.Times.Last(now)
	}
	for at := k.newest; at.After(k.last); at = k.Times.Last(at.Add(-time.Second)) {
		if !at.Add(k.delay(at)).After(now) {
			return at
		}
	}
	return time.Time{}
}

// delay returns the random delay of the time at. It is computed from the name and the time, so all replicas come to
// the same result, and spreads schedules that all say "at nine".
func (k *keeper) delay(at time.Time) time.Duration {
	if k.Jitter < time.Second {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(k.Name)) // never fails
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(at.Unix())))
	return time.Duration(h.Sum64()%uint64(k.Jitter/time.Second)) * time.Second
}

// Start gives the agent the task of a schedule now, once for each key. It fails with [chat.ErrNotFound] if there is no such schedule or its
// room is not known, and with [chat.ErrUnreached].
func (t *Tasks) Start(ctx context.Context, name, key string) error {
	for _, s := range t.Schedules {
		if s.Name == name {
			return t.start(ctx, s, key)
		}
	}
	return chat.ErrNotFound
}

// start gives the agent the task of a schedule.
func (t *Tasks) start(ctx context.Context, s Schedule, key string) error {
	room, err := t.room(ctx, s.Room)
	if err != nil {
		return err
	}
	acc, err := t.services.Task(ctx, chat.Task{
		Room: room.ID, By: chat.EntityID(chat.SchedulePrefix + s.Name), Name: "Schedule " + s.Name, Text: s.Text, Speak: s.Speak, Key: key,
	})
	if err == nil && acc.Run == "" {
		t.Log.Info("a schedule was left out; its room is muted, or too much waits there", "schedule", s.Name)
	}
	return err
}

// do gives the agent the task.
func (k *keeper) do(ctx context.Context, at time.Time) error {
	err := k.start(ctx, k.Schedule, strconv.FormatInt(at.Unix(), 10))
	if unreachable(err) {
		k.Log.Warn("the room of a schedule is not known; write to the agent there first", "schedule", k.Name)
		return nil
	}
	return err
}

// begin reads the stored position of the schedule. Times before it was set up, or changed, don't count as missed.
func (k *keeper) begin(ctx context.Context, now time.Time) error {
	kept, err := k.services.State.Kept(ctx, k.Name)
	if err != nil {
		return fmt.Errorf("read when it was kept: %w", err)
	}
	unix, spec, _ := strings.Cut(kept, " ")
	if seconds, err := strconv.ParseInt(unix, 10, 64); err == nil && spec == k.Spec {
		k.last = time.Unix(seconds, 0)
		return nil
	}
	return k.settle(ctx, now)
}

// settle records that everything up to a time is dealt with.
func (k *keeper) settle(ctx context.Context, at time.Time) error {
	if err := k.services.State.Keep(ctx, k.Name, fmt.Sprintf("%d %s", at.Unix(), k.Spec)); err != nil {
		return fmt.Errorf("record that it was kept: %w", err)
	}
	k.last = at
	return nil
}
