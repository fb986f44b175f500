package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"

	driver "zombiezen.com/go/sqlite"

	"parley/backends/record"
	"parley/backends/sqlstore"
)

// rows are the rows that a statement returns, one after the other. After Close they must not be used.
type rows struct {
	of    *statement // nil after Close
	ended bool
	err   error
}

// Next goes to the next row, and reports whether there is one.
func (r *rows) Next() bool {
	if r.ended {
		return false
	}
	there, err := r.of.Step()
	if err != nil {
		r.err = bare(err)
	}
	r.ended = !there || err != nil
	return !r.ended
}

// Err returns why there are no more rows, unless that was the last one.
func (r *rows) Err() error { return r.err }

// Close resets the statement for its next use. Closing twice is fine. The error is not that of the statement, which
// Next has.
func (r *rows) Close() (err error) {
	s := r.of
	if s == nil {
		return nil
	}
	r.of, r.ended = nil, true
	if !s.kept {
		_ = s.Finalize() // its error is that of Next
		return nil
	}
	_ = s.Reset() // likewise
	err = s.ClearBindings()
	s.busy = false
	return err
}

// rawBytes is a destination for a blob that is overwritten by that of the next row.
type rawBytes []byte

// Scan reads the current row into pointers, one for each column.
func (r *rows) Scan(into ...any) error {
	if n := r.of.ColumnCount(); n != len(into) {
		return fmt.Errorf("%d columns for %d values", n, len(into))
	}
	for i, to := range into {
		if err := r.column(i, to); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return nil
}

var errNull = errors.New("it is NULL")

func (r *rows) column(i int, into any) error {
	switch to := into.(type) {
	case *any:
		*to = r.value(i)
		return nil
	case record.BytesScanner:
		if r.of.ColumnType(i) != driver.TypeText {
			return fmt.Errorf("%s instead of text", r.of.ColumnType(i))
		}
		r.of.scratch = r.bytes(i, r.of.scratch)
		return to.ScanBytes(r.of.scratch)
	case record.TextScanner:
		if r.of.ColumnType(i) != driver.TypeText {
			return fmt.Errorf("%s instead of text", r.of.ColumnType(i))
		}
		return to.ScanText(r.of.ColumnText(i))
	case record.IntScanner:
		if r.of.ColumnType(i) != driver.TypeInteger {
			return fmt.Errorf("%s instead of an integer", r.of.ColumnType(i))
		}
		return to.ScanInt(r.of.ColumnInt64(i))
	case sql.Scanner:
		return to.Scan(r.value(i))
	case *[]byte:
		*to = r.bytes(i, nil)
		return nil
	case *rawBytes:
		*to = r.bytes(i, *to)
		return nil
	}
	if r.of.ColumnIsNull(i) {
		return errNull
	}
	switch to := into.(type) {
	case *string:
		*to = r.of.ColumnText(i)
	case *bool:
		*to = r.of.ColumnBool(i)
	case *int:
		*to = int(r.of.ColumnInt64(i))
	case *int64:
		*to = r.of.ColumnInt64(i)
	default:
		return r.columnKind(i, reflect.ValueOf(into))
	}
	return nil
}

// columnKind reads a column into a pointer to a type that is named.
func (r *rows) columnKind(i int, to reflect.Value) error {
	if to.Kind() != reflect.Pointer {
		return fmt.Errorf("%s is no destination", to.Type())
	}
	to = to.Elem()
	switch to.Kind() {
	case reflect.String:
		to.SetString(r.of.ColumnText(i))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n := r.of.ColumnInt64(i)
		if to.OverflowInt(n) {
			return fmt.Errorf("%d is too large for %s", n, to.Type())
		}
		to.SetInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n := r.of.ColumnInt64(i)
		if n < 0 || to.OverflowUint(uint64(n)) {
			return fmt.Errorf("%d does not fit into %s", n, to.Type())
		}
		to.SetUint(uint64(n))
	case reflect.Bool:
		to.SetBool(r.of.ColumnBool(i))
	case reflect.Float32, reflect.Float64:
		to.SetFloat(r.of.ColumnFloat(i))
	default:
		return fmt.Errorf("%s is no destination", to.Type())
	}
	return nil
}

// bytes returns a column in the memory of old, if that is enough. NULL is nil.
func (r *rows) bytes(i int, old []byte) []byte {
	if r.of.ColumnIsNull(i) {
		return nil
	}
	n := r.of.ColumnLen(i)
	if cap(old) < n || old == nil {
		old = make([]byte, n)
	}
	old = old[:n]
	r.of.ColumnBytes(i, old)
	return old
}

// value returns a column in its own type.
func (r *rows) value(i int) any {
	switch r.of.ColumnType(i) {
	case driver.TypeInteger:
		return r.of.ColumnInt64(i)
	case driver.TypeFloat:
		return r.of.ColumnFloat(i)
	case driver.TypeText:
		return r.of.ColumnText(i)
	case driver.TypeBlob:
		return r.bytes(i, nil)
	}
	return nil
}

// list reads all rows of a query.
func list[T any](ctx context.Context, db *conn, scan func(record.Row) (T, error), query string, args ...any) ([]T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	return sqlstore.Collect(sharedRows{rows}, err, scan)
}
