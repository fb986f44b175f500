package config_test

import (
	"os"
	"testing"

	"parley"
	"parley/config"
)

func TestMain(m *testing.M) {
	config.SetCatalog(append(parley.Platforms(), parley.Providers()...))
	os.Exit(m.Run())
}
