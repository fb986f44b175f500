package sqlite

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	driver "zombiezen.com/go/sqlite"
)

// statement is a prepared statement, and the rows of its current run.
type statement struct {
	*driver.Stmt
	kept bool // in the cache of its connection
	busy bool // its rows are being read, so it can't be started again
	rows rows
	row  row // for one row of them, where that is needed longer

	order   []int  // by parameter: its value, where parameters are named $1, $2 and so on
	scratch []byte // for a column while it is read
}

// bind sets the parameters of s.
func (s *statement) bind(args []any) error {
	for i, n := range s.order {
		if n >= len(args) {
			return fmt.Errorf("%d values for parameter %d", len(args), n+1)
		}
		if err := s.set(i+1, args[n]); err != nil {
			return fmt.Errorf("parameter %d: %w", n+1, err)
		}
	}
	return nil
}

// ordered returns the index of the value of each parameter. SQLite numbers parameters such as $2 as they occur, because they
// are names to it.
func ordered(s *driver.Stmt) []int {
	order := make([]int, s.BindParamCount())
	for i := range order {
		order[i] = i
		if name, ok := strings.CutPrefix(s.BindParamName(i+1), "$"); ok {
			if n, err := strconv.Atoi(name); err == nil {
				order[i] = n - 1
			}
		}
	}
	return order
}

// set sets the nth parameter, from 1.
func (s *statement) set(n int, arg any) error {
	switch v := arg.(type) {
	case nil:
		s.BindNull(n)
	case string:
		s.BindText(n, v)
	case int64:
		s.BindInt64(n, v)
	case int:
		s.BindInt64(n, int64(v))
	case bool:
		s.BindBool(n, v)
	case []byte:
		s.BindBytes(n, v)
	default:
		return s.setKind(n, reflect.ValueOf(arg))
	}
	return nil
}

// setKind sets a value of a type that is named.
func (s *statement) setKind(n int, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		s.BindText(n, v.String())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		s.BindInt64(n, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if int64(v.Uint()) < 0 {
			return errors.New("the number is too large")
		}
		s.BindInt64(n, int64(v.Uint()))
	case reflect.Bool:
		s.BindBool(n, v.Bool())
	case reflect.Float32, reflect.Float64:
		s.BindFloat(n, v.Float())
	default:
		return fmt.Errorf("%s can't be stored", v.Type())
	}
	return nil
}
