package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"parley/internal/sections"
)

// checker checks the result of a decoder, once it is complete: values that can't be right, alone or together with others. Problems
// are reported through the decoder, which has the position of each value.
type checker struct{ *decoder }

// check reports values that are well-formed but invalid, alone or together with others.
func (d checker) check(c *Config) {
	d.firstChat(c)
	if strings.TrimSpace(c.Agent.Name) == "" {
		d.reject("agent.name", "is empty", "give the agent a name")
	}
	for i, name := range c.Agent.Names {
		if strings.TrimSpace(name) == "" {
			d.reject(fmt.Sprintf("agent.names[%d]", i), "is empty", "remove it")
		}
	}
	d.checkOverrides(c)
	d.checkDay(c.Limits, c.Web.Public)
	d.checkModels(c)
	d.checkWeb(c.Web)
	d.checkTLS(c)
	d.checkAddresses(c)
	d.checkAgent(c.Agent)
	d.checkTimes(c)
	d.checkTools(c)
	d.checkInitiative(c)
	d.checkPeople(c.People)
	d.checkRetention(c.Retention)
	d.checkAdmin(c.Admin.OIDC)
	d.checkSchedules(c)
	d.checkHooks(c.Hooks)
	d.checkObserve(c)
	c.Connectors.check(d.decoder)
}

// checkModels checks the models and their providers.
func (d checker) checkModels(c *Config) {
	if len(c.Models.Chat) > 0 {
		d.checkChat(c)
	} else {
		d.checkModel(c, "models.large", c.LargeProvider(), c.Models.Large)
		d.checkProvider(c, namedSlot{Slot{Provider: c.Models.Large.Provider, Model: c.Models.Large.Model}, "models.large", "", sections.Answers})
	}
	for _, s := range c.slots() {
		d.checkProvider(c, s)
	}
	d.checkPrices(c)
}

// checkModel checks the parameters of a model that answers.
func (d checker) checkModel(c *Config, path string, provider Provider, m Model) {
	if m.MaxTokens < 0 {
		d.reject(path+".max_tokens", "is negative", "set 0 for the provider's limit")
	}
	d.checkParameters(c, path, provider, m.Parameters)
	if m.Thinking == ThinkingFull && c.Web.Public {
		d.reject(path+".thinking", "shows reasoning to anyone who can reach the web chat", "set thinking: public if you want that, or status")
	}
}

// checkAddresses checks where things are, and their keys: servers, the store, and the shared state.
func (d checker) checkAddresses(c *Config) {
	d.checkOthers(c.Providers.Others)
	sections.Reject(d.reject).Secret("providers.openai.api_key", c.Providers.OpenAI.APIKey, nil, "set the key alone, without spaces or line breaks")
	sections.Reject(d.reject).URL("providers.openai.base_url", c.Providers.OpenAI.BaseURL)
	const encode = "in the user and the password, write @ as %40, / as %2F, # as %23, ? as %3F, % as %25 and a space as %20"
	if c.Store.hasUnsafeCharacters() {
		d.reject("store", "has a user or a password with a character that has a meaning in addresses", encode)
	} else if !storeAddress(c.Store) {
		d.reject("store", "is not a supported store",
			"set sqlite: and a file path, such as sqlite:parley.db, or the URL of a PostgreSQL database, such as postgres://USER:PASSWORD@HOST/DATABASE")
	}
	if c.Shared.hasUnsafeCharacters() {
		d.reject("shared", "has a user or a password with a character that has a meaning in addresses", encode)
	} else if !sharedAddress(c.Shared) {
		d.reject("shared", "is not a supported backend", "set inmem: for a single process, or redis://HOST:6379 (rediss:// with TLS)")
	}
	if !clusterName.MatchString(c.Cluster) {
		d.reject("cluster", "is not a name of at most 40 lower-case letters, digits and hyphens", "for example shop-1, or leave it empty")
	}
}

// clusterName matches names that can be part of every Redis key.
var clusterName = regexp.MustCompile(`^([a-z0-9][a-z0-9-]{0,39})?$`)

// storeAddress reports whether store is the address of a supported store. PostgreSQL's URLs can have no host, which
// means the local socket, or several.
func storeAddress(store DSN) bool {
	rest := store.Reveal()[len(store.Scheme()):]
	switch store.Scheme() {
	case "sqlite":
		return len(rest) > 1
	case "postgres", "postgresql":
		return strings.HasPrefix(rest, "://") && len(rest) > len("://")
	}
	return false
}

// sharedAddress reports whether shared is the address of a supported backend.
func sharedAddress(shared DSN) bool {
	if shared == "inmem:" {
		return true
	}
	u, err := url.Parse(shared.Reveal())
	return err == nil && strings.HasPrefix(shared.Scheme(), "redis") && u.Hostname() != ""
}

func (d checker) checkTimes(c *Config) {
	const longest = time.Hour
	if t := c.Turns.Timeout; t < time.Second || t > longest {
		d.reject("turns.timeout", "is not between 1s and 60m", "an answer may take at most an hour")
	}
	if w := c.Turns.Window; w < 0 || w > time.Minute {
		d.reject("turns.window", "is not between 0s and 1m", "set 0s to answer at once")
	}
	for path, t := range map[string]time.Duration{"turns.first_event": c.Turns.FirstEvent, "turns.idle": c.Turns.Idle} {
		if t <= 0 {
			d.reject(path, "is not longer than zero", "set a duration, such as 90s")
		}
	}
	if t := c.Turns.Approval; t < time.Second || t > 7*24*time.Hour {
		d.reject("turns.approval", "is not between 1s and 168h", "set a duration, such as 1h")
	}
	if c.Shutdown < 0 {
		d.reject("shutdown", "is negative", "set 0s to stop at once")
	}
}

func (d checker) checkWeb(w Web) {
	for i, origin := range w.Origins {
		if exact, ok := exactOrigin(origin); !ok || exact != origin {
			d.reject(fmt.Sprintf("web.origins[%d]", i), "is not an origin as browsers send it",
				"write scheme://host or scheme://host:port in lower case, without a path, a trailing slash or the default port")
		}
	}
	reject := sections.Reject(d.reject)
	reject.Limit("web.limits.messages_per_minute", w.Limits.MessagesPerMinute)
	reject.Limit("web.limits.conversations_per_hour", w.Limits.ConversationsPerHour)
	reject.Limit("web.limits.open_requests", w.Limits.OpenRequests)
	d.checkAccounts(w)
	if w.Widget.Avatar != "" {
		reject.URL("web.widget.avatar", w.Widget.Avatar)
	}
	if w.Widget.Accent != "" && !color.MatchString(w.Widget.Accent) {
		d.reject("web.widget.accent", "is not a color", `write it as "#0a7d55", in quotes, or as a name such as teal`)
	}
	u, err := url.Parse(w.ContactURL.Reveal())
	fits := err == nil && u.User == nil && u.Scheme == "https" && u.Hostname() != "" && u.Port() == ""
	if err == nil && u.User == nil && u.Scheme == "http" {
		fits, _ = listensLocally(u.Host)
	}
	if w.ContactURL != "" && !fits {
		d.reject("web.contact_url", "is not an address that messages can be sent to", "use https:// and a public host, or http:// and a port of this machine, such as http://127.0.0.1:9000/contact")
	}
	if v := w.Verify; (v.SiteKey == "") != (v.Secret == "") {
		d.reject("web.verify", "has only one of site_key and secret", "set both, or none")
	}
	local, wrong := listensLocally(w.Listen)
	if wrong != nil {
		d.reject("web.listen", wrong.message, wrong.hint)
		return
	}
	if !d.broken("web") {
		d.checkExposure(w, local)
	}
}

// color is the form of colors.
var color = regexp.MustCompile(`^(#([0-9a-fA-F]{3}){1,2}|[a-zA-Z]{3,20})$`)

// domain is the form of names that can have a certificate: in lower case, with at least one dot, and no address.
var domain = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$`)

// checkTLS checks the domains. Several gateways would each ask for the same certificates, and could not answer the checks of
// the authority for each other.
func (d checker) checkTLS(c *Config) {
	t := c.Web.TLS
	for i, name := range t {
		if !domain.MatchString(name) || len(name) > 253 {
			d.reject(fmt.Sprintf("web.tls[%d]", i), "is not the name of a site", "write it in lower case without https://, a port or a path, such as chat.example.org")
		}
	}
	switch {
	case len(t) == 0:
	case !c.Web.Public:
		d.reject("web.tls", "needs web.public: true, as others can reach the chat there", "set web.public: true, or remove this key")
	case c.Shared.Scheme() != "inmem":
		d.reject("web.tls", "works for one gateway only, and shared is "+c.Shared.Scheme()+":", "remove this key, and put a proxy with TLS before the gateways: see docs/deploy.md")
	}
}

// minAccountSecret is the minimum length of the key that signs tokens: HS256 has 32 bytes.
const minAccountSecret = 32

// checkAccounts checks how visitors with an account are recognized.
func (d checker) checkAccounts(w Web) {
	a, ways := w.Accounts, 0
	for _, set := range []bool{a.Secret != "", a.PublicKey != "", a.JWKS != ""} {
		if set {
			ways++
		}
	}
	reject := sections.Reject(d.reject)
	reject.Secret("web.accounts.secret", a.Secret, nil, "set the key alone, without spaces or line breaks")
	if a.JWKS != "" {
		reject.URL("web.accounts.jwks", a.JWKS)
	}
	switch {
	case ways > 1:
		d.reject("web.accounts", "has more than one of secret, public_key and jwks", "keep one of them")
	case a.Secret != "" && len(a.Secret) < minAccountSecret:
		d.reject("web.accounts.secret", "is shorter than 32 characters", "make one with openssl rand -hex 32")
	case ways == 1 && a.Audience == "":
		d.reject("web.accounts.audience", "is missing", "set the aud of your tokens, such as https://www.example.org")
	}
	if w.ClaimUntil != "" && w.ClaimTime().IsZero() {
		d.reject("web.claim_until", "is not a day", "write it as 2027-01-31")
	}
}

// checkExposure requires several explicit settings before strangers can spend the owner's money.
func (d checker) checkExposure(w Web, local bool) {
	switch {
	case !local && !w.Public:
		d.reject("web.listen", "can be reached from other machines",
			"listen on 127.0.0.1, or set web.public: true with web.origins and web.limits")
	case w.Public && len(w.Origins)+len(w.TLS) == 0:
		d.reject("web.public", "is open to the public, but has no origins", `set web.origins, such as ["https://chat.example.org"]`)
	case w.Public && (w.Limits.MessagesPerMinute == 0 || w.Limits.ConversationsPerHour == 0 || w.Limits.OpenRequests == 0):
		d.reject("web.public", "is open to the public, but has no limits", "set every value of web.limits above 0")
	}
}

// listensLocally reports whether only this machine can reach the address.
func listensLocally(listen string) (local bool, wrong *fault) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || strings.ContainsAny(host, " /@?#") {
		return false, &fault{"is not a host and a port", "write them with a colon, such as 127.0.0.1:8080"}
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return false, &fault{"has a port that is not a number from 0 to 65535", "write one such as 8080; 0 takes any free port"}
	}
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.Unmap().IsLoopback(), nil
}

// exactOrigin returns an origin in the form that browsers send, because origins are compared byte for byte.
func exactOrigin(origin string) (string, bool) {
	u, err := url.Parse(origin)
	if err != nil || u.Hostname() == "" || u.User != nil || strings.ContainsAny(u.Host, "*, ") {
		return "", false
	}
	usual := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	if usual == "" {
		return "", false
	}
	host := strings.ToLower(u.Host)
	host = strings.TrimSuffix(host, ":")
	return u.Scheme + "://" + strings.TrimSuffix(host, ":"+usual), isASCII(host)
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > '~' })
}
