package record

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// List returns l as JSON, or "" for an empty list, which most rows have.
func List[E any](l []E) string {
	if len(l) == 0 {
		return ""
	}
	return JSON(l)
}

// JSON returns v as JSON. It is for types that always can be encoded, and panics for others: that would be a mistake in
// this program.
func JSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// JSONInto returns a destination for a JSON column, which is decoded into v. An empty column leaves v as it is.
func JSONInto(v any) sql.Scanner { return jsonColumn{v} }

// jsonColumn scans a column of JSON. Both drivers give it a string.
type jsonColumn struct{ into any }

// Scan implements [sql.Scanner].
func (c jsonColumn) Scan(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("a JSON column holds %T", v)
	}
	return c.ScanText(text)
}

// ScanText implements [TextScanner].
func (c jsonColumn) ScanText(text string) error {
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), c.into)
}

// Nanos returns the stored form of a time: unix nanoseconds, 0 for the zero time. Times outside of the years 1678 to
// 2262, which int64 can count, become the nearest that it can.
func Nanos(t time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// Time returns the time, in UTC, that [Nanos] returned n for.
func Time(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// TimeInto returns a destination for a column that [Nanos] filled.
func TimeInto(t *time.Time) sql.Scanner { return timeColumn{t} }

// timeColumn scans a column that Nanos filled.
type timeColumn struct{ into *time.Time }

// Scan implements [sql.Scanner].
func (c timeColumn) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a time column holds %T", v)
	}
	return c.ScanInt(n)
}

// ScanInt implements [IntScanner].
func (c timeColumn) ScanInt(n int64) error {
	*c.into = Time(n)
	return nil
}

// TextScanner is a destination for columns of text, and IntScanner for integers, that costs no conversion to any.
type (
	TextScanner interface{ ScanText(text string) error }
	IntScanner  interface{ ScanInt(n int64) error }
)
