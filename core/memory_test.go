package core_test

import (
	"testing"

	"parley/core"
)

// SE-16: what somebody else triggers is paid by them, and they act without the role of the one who asked.
func TestAddressForAnother(t *testing.T) {
	asked := core.Address{Connector: "fake", Room: room, ReplyTo: "m", Payer: "ada", Known: "ada", Own: []byte("own")}
	if got := asked.For("bob", "bob's"); got.Payer != "bob's" || got.Known != "" || got.ReplyTo != "m" || string(got.Own) != "own" {
		t.Errorf("for Bob it is %+v", got)
	}
	if got := asked.For("ada", "ada"); got.Known != "ada" || got.Payer != "ada" {
		t.Errorf("for Ada it is %+v", got)
	}
}
