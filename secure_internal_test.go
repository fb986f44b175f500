package parley

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"parley/config"
)

// The check reports where the domains lead.
func TestCheckOfDomains(t *testing.T) {
	find := func(_ context.Context, name string) ([]string, error) {
		found := map[string][]string{"here.example": {"203.0.113.7", "127.0.0.1"}, "there.example": {"203.0.113.7"}}[name]
		if found == nil {
			return nil, errors.New("no such host")
		}
		return found, nil
	}
	free := func(network, _ string) (net.Listener, error) { return net.Listen(network, "127.0.0.1:0") }
	for name, c := range map[string]struct {
		domains        []string
		ok             string
		warning, fault string
	}{
		"here":             {[]string{"here.example"}, "leads to this machine", "", ""},
		"behind a router":  {[]string{"here.example", "there.example"}, "", "there.example leads to 203.0.113.7, which this machine does not have", ""},
		"not in the names": {[]string{"here.example", "lost.example"}, "", "", "find lost.example"},
	} {
		t.Run(name, func(t *testing.T) {
			var cfg config.Config
			cfg.Store, cfg.Web.TLS = config.DSN("sqlite:"+filepath.Join(t.TempDir(), "parley.db")), c.domains
			text, err := checkSecure(t.Context(), cfg, Env{Listen: free}, find)
			if err == nil && !strings.HasSuffix(text, "are kept in "+strings.TrimPrefix(cfg.Store.Reveal(), "sqlite:")+".certificates") {
				t.Errorf("it does not name the folder: %s", text)
			}
			doubt, doubted := errors.AsType[warning](err)
			switch {
			case c.ok != "" && (err != nil || !strings.Contains(text, c.ok)),
				c.warning != "" && (!doubted || !strings.Contains(string(doubt), c.warning)),
				c.fault != "" && (doubted || err == nil || !strings.Contains(err.Error(), c.fault)):
				t.Errorf("it finds %q, %v", text, err)
			}
		})
	}
}
