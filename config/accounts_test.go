package config

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestAccounts(t *testing.T) {
	c := parse(t, `
web:
  accounts: {secret: "${env:SITE_SECRET}", audience: https://www.example.org}
  require_identity: true
  claim_until: 2027-01-31
`, map[string]string{"SITE_SECRET": "0123456789abcdef0123456789abcdef"})
	if !c.Web.Accounts.On() || !c.Web.RequireIdentity || c.Web.ClaimTime() != time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC) {
		t.Errorf("%+v", c.Web)
	}
	if strings.Contains(fmt.Sprintf("%+v", c), "0123456789abcdef") {
		t.Error("a secret is printed")
	}
	for yaml, want := range map[string]string{
		`accounts: {secret: 0123456789abcdef, audience: a}`:                          "is shorter than 32 characters",
		`accounts: {secret: 0123456789abcdef0123456789abcdef}`:                       "web.accounts.audience: the value is missing",
		`accounts: {jwks: "https://id.example/keys", audience: a, algorithm: none}`:  "is not a key any more",
		`accounts: {jwks: "https://id.example/keys", public_key: AAAA, audience: a}`: "has more than one of",
		`accounts: {jwks: "ftp://id.example", audience: a}`:                          "web.accounts.jwks",
		`verify: {site_key: "0x4AAAAAAADnPIDROrmt1Wwj"}`:                             "web.verify: this has only one of site_key and secret",
		`contact_url: "https://desk.example.org/contact?key=1"`:                      "",
		`contact_url: "http://127.0.0.1:9000/contact"`:                               "",
		`contact_url: "http://desk.example.org/"`:                                    "web.contact_url: the value is not an address that messages can be sent to",
		`contact_url: "https://desk.example.org:8443/"`:                              "web.contact_url: the value is not an address that messages can be sent to",
		`contact_url: "https://ada:secret@desk.example.org/"`:                        "web.contact_url: the value is not an address that messages can be sent to",
		`contact_url: "http://10.0.0.1/"`:                                            "web.contact_url: the value is not an address that messages can be sent to",
		`contact_url: desk`:                                                          "web.contact_url: the value is not an address that messages can be sent to",
		`claim_until: soon`:                                                          "web.claim_until: the value is not a day",
	} {
		_, err := Parse("config.yaml", []byte("web: {"+yaml+"}"), t.TempDir(), environment(nil), platforms...)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", yaml, err, want)
		}
	}
}
