package discordfake

import (
	"strconv"
	"time"
)

// timestampLayout is how Discord writes instants.
const timestampLayout = "2006-01-02T15:04:05.000000-07:00"

func timestamp(t time.Time) string { return t.UTC().Format(timestampLayout) }

// snowflakes makes ids that rise with the clock. Their upper bits count
// milliseconds since 2015, as Discord's do; on a clock that stands before that
// (a synctest bubble starts in 2000) they count from a year before the server
// was made.
type snowflakes struct {
	epoch time.Time
	last  uint64
}

func newSnowflakes(now time.Time) snowflakes {
	epoch := time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC)
	if year := now.AddDate(-1, 0, 0); year.Before(epoch) {
		epoch = year
	}
	return snowflakes{epoch: epoch}
}

func (s *snowflakes) next(now time.Time) string {
	id := uint64(now.Sub(s.epoch).Milliseconds()) << 22
	if id <= s.last {
		id = s.last + 1
	}
	s.last = id
	return strconv.FormatUint(id, 10)
}

// number is a snowflake as an integer, for order and shards; 0 if it is none.
func number(id string) uint64 {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
