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
