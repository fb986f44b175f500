package config

import "testing"

func TestWithListen(t *testing.T) {
	for _, c := range []struct {
		address string
		public  bool
		ok      bool
	}{
		{"127.0.0.1:0", false, true},
		{"[::1]:9000", false, true},
		{"localhost:9000", false, true},
		{"0.0.0.0:9000", false, false},
		{":9000", false, false},
		{"0.0.0.0:9000", true, true},
		{"9000", false, false},
	} {
		cfg := Config{Web: Web{Listen: "127.0.0.1:8080", Public: c.public}}
		got, err := cfg.WithListen(c.address)
		if (err == nil) != c.ok {
			t.Errorf("WithListen(%q) with public %v: error %v", c.address, c.public, err)
		}
		if c.ok && got.Web.Listen != c.address {
			t.Errorf("WithListen(%q) listens on %q", c.address, got.Web.Listen)
		}
	}
}
