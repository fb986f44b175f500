package schedule

import (
	"time"

	"parley/core/chat"
	"parley/internal/lang"
)

// Workload describes the answers in progress and the waiting runs of a room, for the status command.
func Workload(v lang.Voice, open []chat.Run) string {
	now, waiting, parked := v.Say("work.idle"), 0, 0
	for _, r := range open {
		switch {
		case r.Parked:
			parked++
		case r.Epoch > 0:
			now = v.Say("work.writing")
		default:
			waiting++
		}
	}
	if waiting > 0 {
		now = v.Say("work.waiting", "now", now, "n", waiting)
	}
	if parked > 0 {
		now = v.Say("work.parked", "now", now, "n", parked)
	}
	return now
}

// Minutes returns d in words, rounded down to minutes or, below one, seconds.
func Minutes(v lang.Voice, d time.Duration) string {
	if d < time.Minute {
		return v.Say("time.seconds", "n", int(d.Seconds()))
	}
	return v.Say("time.minutes", "n", int(d.Minutes()))
}
