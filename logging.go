package parley

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"parley/config"
	"parley/connectors"
	"parley/connectors/web"
	"parley/core/text"
	"parley/core/turn"
	"parley/internal/trace"
)

// Bounds of the log. Others cause many of its lines: platforms, servers, visitors. Without bounds, one that
// repeats itself would fill the disk.
const (
	logWindow  = time.Minute
	logLines   = 100     // lines with one message in a window; those of level Debug are not counted
	logKinds   = 1000    // distinct messages in a window; further ones share a count
	logValue   = 4 << 10 // bytes of one value
	logMessage = 500     // bytes of a message
)

// limitedLog passes records to another handler within the bounds of the log. It belongs to all loggers that are made
// from one, and is safe for concurrent use.
type limitedLog struct {
	slog.Handler
	counts *logCounts
}

// Handle implements [slog.Handler].
func (l limitedLog) Handle(ctx context.Context, r slog.Record) error {
	short := slog.NewRecord(r.Time, r.Level, shortened(r.Message, logMessage), r.PC)
	if r.Level >= slog.LevelInfo && r.Message != turn.AnswerLine { // the owner limits answers, and needs the line of each
		n, leftOut := l.counts.count(short.Message)
		for _, message := range slices.Sorted(maps.Keys(leftOut)) {
			sum := slog.NewRecord(r.Time, slog.LevelWarn, "repeated log lines were left out", 0)
			sum.AddAttrs(slog.String("message", message), slog.Int("lines", leftOut[message]))
			if err := l.Handler.Handle(ctx, sum); err != nil {
				return err
			}
		}
		switch {
		case n > logLines:
			return nil
		case n == logLines:
			short.AddAttrs(slog.String("note", "further lines like this are left out for up to a minute"))
		}
	}
	r.Attrs(func(a slog.Attr) bool {
		short.AddAttrs(shortAttr(a))
		return true
	})
	return l.Handler.Handle(ctx, short)
}

// WithAttrs implements [slog.Handler].
func (l limitedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return limitedLog{l.Handler.WithAttrs(attrs), l.counts}
}

// WithGroup implements [slog.Handler].
func (l limitedLog) WithGroup(name string) slog.Handler {
	return limitedLog{l.Handler.WithGroup(name), l.counts}
}

// limitLog returns a handler that passes records to h within the bounds of the log.
func limitLog(h slog.Handler) slog.Handler { return limitedLog{h, &logCounts{seen: map[string]int{}}} }

// logCounts counts the lines of one window by their messages.
type logCounts struct {
	mu    sync.Mutex
	begun time.Time
	seen  map[string]int
}

// count returns the number of lines with that message in this window, with this one. With the first line of a
// window, it also returns how many of each message were left out in the one before.
func (c *logCounts) count(message string) (n int, leftOut map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.begun) >= logWindow {
		leftOut = map[string]int{}
		for message, n := range c.seen {
			if n > logLines {
				leftOut[message] = n - logLines
			}
		}
		clear(c.seen)
		c.begun = now
	}
	if c.seen[message] == 0 && len(c.seen) >= logKinds {
		message = "others"
	}
	c.seen[message]++
	return c.seen[message], leftOut
}

// shortAttr returns a with bounded texts, also in groups and of errors.
func shortAttr(a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindGroup:
		group := make([]slog.Attr, len(v.Group()))
		for i, in := range v.Group() {
			group[i] = shortAttr(in)
		}
		a.Value = slog.GroupValue(group...)
	case slog.KindString:
		a.Value = slog.StringValue(shortened(v.String(), logValue))
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			if said := err.Error(); len(said) > logValue {
				a.Value = slog.StringValue(shortened(said, logValue))
			}
		}
	}
	return a
}

// shortened returns s in at most that many bytes, with a mark where it was cut.
func shortened(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return text.CutBytes(s, most-utf8.UTFMax) + "…"
}

// private returns log with bounds, with the traces of runs, and with conversation ids replaced by hashes, because the ids give access to the
// conversations. The hashes stay the same for the life of the store, and are the same in all gateways that share it. The traces have ids by the same key.
func private(ctx context.Context, memo connectors.SharedState, log *slog.Logger, t config.Traces) (*slog.Logger, trace.Sampler, error) {
	key, err := storedKey(ctx, memo, web.LogKey)
	if err != nil {
		return nil, trace.Sampler{}, err
	}
	s := trace.Sampler{Key: key, Share: t.Sample}
	if t.Endpoint == "" {
		s.Share = 0
	}
	hidden := web.HideConversations(log.Handler(), key, func(run string) string { return s.Root(run).TraceID() })
	return slog.New(limitLog(hidden)), s, nil
}

// storedKey returns the random key that is stored under a name, and makes one for a new store. If another gateway does the
// same at the same time, the key that is stored first counts.
func storedKey(ctx context.Context, memo connectors.SharedState, name string) (string, error) {
	key, err := memo.Kept(ctx, name)
	if err != nil {
		return "", fmt.Errorf("read the %s: %w", name, err)
	}
	if key != "" {
		return key, nil
	}
	made := rand.Text()
	done, err := memo.Swap(ctx, name, "", made)
	if err != nil {
		return "", fmt.Errorf("store the %s: %w", name, err)
	}
	if done {
		return made, nil
	}
	if key, err = memo.Kept(ctx, name); err != nil {
		return "", fmt.Errorf("read the %s: %w", name, err)
	}
	return key, nil
}
