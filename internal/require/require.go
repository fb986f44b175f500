// Package require ends tests on errors of their preparation.
package require

// A T is a test, a benchmark or a fuzz test.
type T interface {
	Helper()
	Fatal(args ...any)
}

// NoError ends t unless err is nil.
func NoError(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Value returns a function that ends a test unless err is nil, and returns v, as in
//
//	file := require.Value(os.Open(name))(t)
func Value[V any](v V, err error) func(T) V {
	return func(t T) V {
		t.Helper()
		NoError(t, err)
		return v
	}
}
