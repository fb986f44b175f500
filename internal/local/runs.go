package local

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/config"
	"parley/connectors/web"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/text"
	"parley/core/turn"
)

// mostListed is the maximum number of runs that gateway runs lists.
const mostListed = 100

// SetAside is a run that is not tried again, because processes crashed while they held it.
type SetAside struct {
	Run      chat.RunID
	Room     chat.RoomID
	Opened   time.Time
	Deaths   int
	Attempts int
	Question string // its beginning; empty if the message was deleted
}

// runsRequest is the request of gateway runs and gateway show: the run to retry or to show, or, if both are empty, the list.
type runsRequest struct{ Retry, Show chat.RunID }

type runsReply struct {
	Runs    []SetAside
	Receipt string
}

var runs = command[runsRequest, runsReply]{name: "runs", do: runsAt}

// runsAt carries out req, in a gateway or without one.
func runsAt(ctx context.Context, store Store, rt Runtime, req runsRequest) (out runsReply, err error) {
	if req.Retry != "" {
		return out, retryError(req.Retry, rt.RetryRun(ctx, req.Retry))
	}
	if req.Show != "" {
		if err := rt.SaveUsage(ctx); err != nil {
			return out, err
		}
		id, err := revealed(ctx, store, req.Show)
		if err != nil {
			return out, err
		}
		receipt, err := turn.ReceiptOf(ctx, store, id)
		if errors.Is(err, chat.ErrNotFound) {
			err = fmt.Errorf("there is no run %s; the log names the run of each answer", req.Show)
		}
		out.Receipt = receipt.Whole()
		return out, err
	}
	all, err := store.SetAside(ctx, mostListed)
	if err != nil {
		return out, err
	}
	for _, run := range all {
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

// mostSearched is the maximum number of rooms that are searched for a run of the log.
const mostSearched = 100_000

// revealed returns a run as it is stored: the log hides the ids of rooms.
func revealed(ctx context.Context, store Store, id chat.RunID) (chat.RunID, error) {
	connector, _, hidden := strings.Cut(string(id), "/~")
	if !hidden {
		return id, nil
	}
	key, err := store.Kept(ctx, web.LogKey)
	if err != nil {
		return "", fmt.Errorf("read the %s: %w", web.LogKey, err)
	}
	rooms, err := store.ListRooms(ctx, connector+"/", mostSearched)
	if err != nil {
		return "", fmt.Errorf("search the conversation of %s: %w", id, err)
	}
	return chat.RunID(web.Reveal([]byte(key), string(id), rooms)), nil
}

// retryError explains why a run can't be retried, with the remedy.
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
// runs. It fails if neither can be reached.
func ListSetAside(ctx context.Context, cfg config.Config) ([]SetAside, error) {
	out, err := runs.run(ctx, cfg, runsRequest{})
	return out.Runs, err
}

// Receipt describes how an answer came about: see [turn.ReceiptOf]. It fails if there is no such run.
func Receipt(ctx context.Context, cfg config.Config, id string) (string, error) {
	out, err := runs.run(ctx, cfg, runsRequest{Show: chat.RunID(id)})
	return out.Receipt, err
}

// RetryRun answers a run that is set aside again: the running gateway of cfg does, or the next one. It fails if the run
// can't be retried.
func RetryRun(ctx context.Context, cfg config.Config, id string) error {
	_, err := runs.run(ctx, cfg, runsRequest{Retry: chat.RunID(id)})
	return err
}
