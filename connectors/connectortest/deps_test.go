package connectortest_test

import (
	"testing"

	"parley/connectors/connectortest"
	"parley/core/coretest"
)

// The memory of tests passes the suite that the stores pass.
func TestMemory(t *testing.T) { coretest.Kept(t, &connectortest.Memory{}) }
