// Package subtest makes subtests of functions that prepare a test, so that a table of tests has one level of functions.
package subtest

import "testing"

// Of returns a test that calls run with play. Run prepares a test, such as [testing/synctest.Test].
func Of[P any](run func(*testing.T, P), play P) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		run(t, play)
	}
}

// With returns a test that calls run with a, which says how to prepare, and play.
func With[A, P any](run func(*testing.T, A, P), a A, play P) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		run(t, a, play)
	}
}

// Plain is [Of] for a function with options, and passes none.
func Plain[P, O any](run func(*testing.T, P, ...O), play P) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		run(t, play)
	}
}
