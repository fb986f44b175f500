package panics_test

import (
	"errors"
	"strings"
	"testing"

	"parley/core/panics"
)

func TestCall(t *testing.T) {
	broken := errors.New("broken")
	if err := panics.Call("it", func() error { return broken }); err != broken {
		t.Errorf("an error becomes %v", err)
	}
	err := panics.Call("the plugin", func() error { panic("no way") })
	var p *panics.Error
	if !errors.As(err, &p) || p.Value != "no way" || !strings.HasPrefix(err.Error(), "the plugin panicked: no way\n") || !strings.Contains(err.Error(), "TestCall") {
		t.Errorf("a panic becomes %v", err)
	}
}

// A result that was there before a panic goes: the error takes the place of any other.
func TestRecover(t *testing.T) {
	f := func() (err error) {
		defer panics.Recover(&err, "the plugin")
		err = errors.New("earlier")
		panic("no way")
	}
	var p *panics.Error
	if err := f(); !errors.As(err, &p) {
		t.Errorf("the error is %v", err)
	}
}
