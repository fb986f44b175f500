package schedule

import (
	"fmt"
	"time"

	"parley/core/chat"
)

// Workload describes the answers in progress and the waiting runs of a room, for the status command.
func Workload(open []chat.Run) string {
	now, waiting, parked := "no answer in progress", 0, 0
	for _, r := range open {
		switch {
		case r.Parked:
			parked++
		case r.Epoch > 0:
			now = "writing an answer"
		default:
			waiting++
		}
	}
	if waiting > 0 {
		now = fmt.Sprintf("%s, %d waiting", now, waiting)
	}
	if parked > 0 {
		now = fmt.Sprintf("%s, %d waiting for a decision", now, parked)
	}
	return now
}

// Minutes returns d in words, rounded down to minutes or, below one, seconds.
func Minutes(d time.Duration) string {
	switch {
	case d == time.Minute:
		return "1 minute"
	case d < time.Minute:
		return fmt.Sprintf("%d seconds", int(d.Seconds()))
	}
	return fmt.Sprintf("%d minutes", int(d.Minutes()))
}
