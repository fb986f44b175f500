package config_test

import (
	"os"
	"testing"

	"parley"
	"parley/config"
)

func TestMain(m *testing.M) {
	config.SetPlatforms(parley.Platforms())
	os.Exit(m.Run())
}
