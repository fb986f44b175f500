package parley

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/config"
	"parley/core"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/text"
)

// mostListed is how many runs `gateway runs` lists.
const mostListed = 100

// SetAside is a question that is not answered any more, because processes died while they tried.
type SetAside struct {
	Run      chat.RunID
	Room     chat.RoomID
	Opened   time.Time
	Deaths   int
	Attempts int
	Question string // the beginning of what was asked; empty if that was taken back
}

// runsRequest is what `gateway runs` asks for: the run to retry, or the list.
type runsRequest struct{ Retry chat.RunID }

type runsReply struct {
	Runs  []SetAside
	Error string
}

// retrying answers a run that was set aside again.
type retrying func(ctx context.Context, id chat.RunID) error

// runsHere does what r asks for.
func runsHere(ctx context.Context, store core.Store, retry retrying, r runsRequest) (out runsReply, err error) {
	if r.Retry != "" {
		return out, retryError(r.Retry, retry(ctx, r.Retry))
	}
	runs, err := store.SetAside(ctx, mostListed)
	if err != nil {
		return out, err
	}
	for _, run := range runs {
		s := SetAside{Run: run.ID, Room: run.Room, Opened: run.Opened, Deaths: run.Deaths, Attempts: run.Attempts}
		if n := len(run.Inputs); n > 0 {
			m, err := store.Memory(ctx, run.Inputs[n-1])
			if err != nil && !errors.Is(err, chat.ErrNotFound) {
				return out, err
			}
			s.Question = text.Excerpt(m.Text, 80)
		}
		out.Runs = append(out.Runs, s)
	}
	return out, nil
}

// retryError says why a run can't be retried, and what to do.
func retryError(id chat.RunID, err error) error {
	switch {
	case errors.Is(err, chat.ErrNotFound):
		return fmt.Errorf("run %s is not set aside; `gateway runs` lists the runs that are", id)
	case errors.Is(err, chat.ErrBusy):
		return fmt.Errorf("another message in the room of %s is being answered; try again when it is done", id)
	case errors.Is(err, answer.ErrLost):
		return fmt.Errorf("%s can't be retried: its message was deleted, or one of its actions had started and would run twice", id)
	}
	return err
}

// ListSetAside returns the runs that are set aside, newest first, from the running gateway of cfg, or from its store if none
// runs.
func ListSetAside(ctx context.Context, cfg config.Config) ([]SetAside, error) {
	out, err := askRuns(ctx, cfg, runsRequest{})
	return out.Runs, err
}

// RetryRun has a run that is set aside answered again: by the running gateway of cfg, or by the next one.
func RetryRun(ctx context.Context, cfg config.Config, id string) error {
	_, err := askRuns(ctx, cfg, runsRequest{Retry: chat.RunID(id)})
	return err
}

func askRuns(ctx context.Context, cfg config.Config, r runsRequest) (out runsReply, err error) {
	err = atStore(ctx, cfg, "runs", r, &out, func(store core.Store) error {
		out, err = runsHere(ctx, store, store.RetryRun, r)
		return err
	})
	if err == nil && out.Error != "" {
		err = errors.New(out.Error)
	}
	return out, err
}
