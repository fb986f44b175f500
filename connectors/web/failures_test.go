package web

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// While the store is away, the requests of all visitors write one line a minute for each thing they want.
func TestFailuresAreLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		f := newFailures(slog.New(slog.NewTextHandler(&log, nil)))
		away := errors.New("the store is away")
		for range 119 {
			f.note("open a conversation", away)
			f.note("clear a conversation", away)
			time.Sleep(time.Second)
		}
		if n := strings.Count(log.String(), "a web request failed"); n != 4 {
			t.Errorf("in two minutes two kinds of requests write %d lines, want 4:\n%s", n, &log)
		}
		if n := strings.Count(log.String(), "others_before=59"); n != 2 {
			t.Errorf("the second lines count 59 others %d times, want twice:\n%s", n, &log)
		}
	})
}
