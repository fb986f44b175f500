package admin_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/oauth2-proxy/mockoidc"

	"parley/connectors/web/login"
	"parley/internal/admin"
	"parley/internal/require"
)

// Members of the groups log in with OpenID Connect; others, other states and other browsers don't.
func TestSSO(t *testing.T) {
	m := require.Value(mockoidc.Run())(t)
	defer func() { _ = m.Shutdown() }()
	p := newPage(t, func(o *admin.Options) {
		c := m.Config()
		o.OIDC = admin.OIDC{Issuer: c.Issuer, ClientID: c.ClientID, ClientSecret: c.ClientSecret, Owners: "ops", Staff: "support"}
	})
	step := func(c *http.Client, address string) (int, *url.URL) {
		t.Helper()
		r := require.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody))(p)
		resp := require.Value(c.Do(r))(p)
		_ = resp.Body.Close()
		to, _ := resp.Location()
		return resp.StatusCode, to
	}
	back := func(c *http.Client, groups ...string) *url.URL {
		t.Helper()
		m.QueueUser(&mockoidc.MockUser{Subject: "42", Email: "olga@example.org", Groups: groups})
		_, to := step(c, p.url+"/admin/oidc")
		if q := to.Query(); q.Get("code_challenge_method") != "S256" || q.Get("nonce") == "" || q.Get("state") == "" {
			t.Errorf("the request is %s", to)
		}
		_, to = step(c, to.String())
		return to
	}
	for group, want := range map[string]int{"ops": http.StatusOK, "support": http.StatusForbidden} {
		c := p.visitor()
		if status, to := step(c, back(c, "others", group).String()); status != http.StatusSeeOther || to.Path != "/admin" {
			t.Errorf("%s: %d, %v", group, status, to)
		}
		if status, _ := p.get(c, "/admin/audit"); status != want {
			t.Errorf("the audit log for %s: %d; want %d", group, status, want)
		}
	}
	owner := p.visitor()
	step(owner, back(owner, "ops").String())
	late := p.visitor()
	step(late, back(late, "ops").String())
	p.must(login.Change(t.Context(), p.memo, "admin/sessions", func(all *[]login.Session) error {
		(*all)[len(*all)-1].Since = time.Now().Add(-time.Hour - time.Minute)
		return nil
	}))
	if status, _ := p.get(late, "/admin"); status != http.StatusSeeOther {
		t.Errorf("after an hour the groups are not read again: %d", status)
	}
	if _, body := p.get(owner, "/admin/audit"); !strings.Contains(body, "oidc:olga@example.org 42") {
		t.Errorf("the audit log is %s", body)
	}
	c := p.visitor()
	if status, _ := step(c, back(c, "others").String()); status != http.StatusForbidden {
		t.Errorf("a user of no group: %d", status)
	}
	if status, _ := step(p.visitor(), back(c, "ops").String()); status != http.StatusForbidden {
		t.Errorf("another browser: %d", status)
	}
	forged := back(c, "ops")
	q := forged.Query()
	q.Set("state", "another")
	forged.RawQuery = q.Encode()
	if status, _ := step(c, forged.String()); status != http.StatusForbidden {
		t.Errorf("another state: %d", status)
	}
	if status, _ := p.get(c, "/admin"); status != http.StatusSeeOther {
		t.Errorf("after failed logins the page is open: %d", status)
	}
}
