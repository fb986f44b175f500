package connectortest_test

import (
	"testing"

	"parley/connectors/connectortest"
	"parley/core/storage/storagetest"
)

// The memory of tests passes the suite that the stores pass.
func TestMemory(t *testing.T) { storagetest.Kept(t, &connectortest.Memory{}) }
