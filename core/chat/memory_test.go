package chat_test

import (
	"testing"

	"parley/core/chat"
)

// SE-16: what another user triggers is paid by them, and they act without the role of the one who asked.
func TestAddressForAnother(t *testing.T) {
	asked := chat.Address{Connector: "fake", Room: "fake/ada", ReplyTo: "m", BilledTo: "ada", AuthorizedByRole: "ada", ConnectorData: []byte("own")}
	if got := asked.For("bob", "bob's"); got.BilledTo != "bob's" || got.AuthorizedByRole != "" || got.ReplyTo != "m" || string(got.ConnectorData) != "own" {
		t.Errorf("for Bob it is %+v", got)
	}
	if got := asked.For("ada", "ada"); got.AuthorizedByRole != "ada" || got.BilledTo != "ada" {
		t.Errorf("for Ada it is %+v", got)
	}
}
