package web

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// guard checks Origin and Host. The checks protect browsers against other sites and DNS rebinding: a page elsewhere
// must not use the visitor's network position or cookies of a proxy to talk to this server. They do not protect against
// programs, which can send any header, and are rate limited instead.
type guard struct {
	log     *slog.Logger
	told    *seldom
	hosts   map[string]bool // host names of this server: any other is DNS rebinding
	origins []string
	proxies []netip.Prefix
	verify  Verify // the page loads the scripts of its service
}

// newGuard returns the guard of a server: its own names are the address that it listens on, the local ones with the
// same port, and the hosts of the listed origins.
func newGuard(listen net.Addr, origins []string, proxies []netip.Prefix, log *slog.Logger) guard {
	g := guard{log: log, told: newSeldom(), hosts: map[string]bool{}, origins: origins, proxies: proxies}
	host, port, err := net.SplitHostPort(listen.String())
	if err == nil {
		for _, h := range []string{host, "localhost", "127.0.0.1", "::1"} {
			g.hosts[net.JoinHostPort(h, port)] = true
		}
	}
	for _, o := range origins {
		if u, err := url.Parse(o); err == nil {
			g.hosts[u.Host] = true
		}
	}
	return g
}

// host refuses requests for other host names.
func (g guard) host(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		probe := r.URL.Path == "/healthz" || r.URL.Path == "/readyz" // probes use an IP address, which may be any
		if !probe && !g.hosts[strings.ToLower(r.Host)] {
			g.report("a request for another host name was refused", "host", "https://"+strings.ToLower(r.Host))
			fail(rw, http.StatusForbidden, "This server does not serve that host name. Add the site to web.origins.")
			return
		}
		h := rw.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(rw, r)
	})
}

// api allows requests of the listed sites, of the server's own page, and of programs that are not browsers. A refused
// site gets a readable reason: its owner looks for it in the browser's console.
func (g guard) api(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		h := rw.Header()
		h.Set("Cache-Control", "no-store")
		h.Add("Vary", "Origin")
		origin := r.Header.Get("Origin")
		welcome := g.welcome(r, origin)
		if slices.Contains(g.origins, origin) || !welcome && origin != "" {
			h.Set("Access-Control-Allow-Origin", origin) // lets a refused site read the reason, and nothing else
			h.Set("Access-Control-Expose-Headers", "Retry-After, Deprecation, Sunset, "+resumable)
		}
		switch {
		case r.Method == http.MethodOptions: // also for refused sites, which otherwise could not read the reason
			h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
			h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers")) // clients have their own; Origin decides
			h.Add("Vary", "Access-Control-Request-Headers")
			h.Set("Access-Control-Max-Age", "600")
			rw.WriteHeader(http.StatusNoContent)
		case welcome:
			next.ServeHTTP(rw, r)
		default:
			g.report("a site that is not in web.origins requested the chat", "origin", origin)
			no := refused(http.StatusForbidden, "refused.site")
			no.code = "ORIGIN_NOT_ALLOWED"
			no.reply(rw)
		}
	})
}

// report logs, at most once an hour per site, the configuration line that would allow a site. The name comes from a
// stranger, so its length is bounded.
func (g guard) report(what, kind, site string) {
	if site == "" || site == "null" || len(site) > maxSite || !g.told.first(site) {
		return
	}
	g.log.Warn(what, kind, site, "to_allow_it", fmt.Sprintf("add %q to web.origins", site))
}

// maxSite is the maximum logged length of a site's name, in bytes.
const maxSite = 300

// welcome reports whether a request may use the API. Browsers send Origin with all requests that could do harm; without
// it, Sec-Fetch-Site tells those of other sites apart, which older browsers and programs don't send.
func (g guard) welcome(r *http.Request, origin string) bool {
	if origin == "" {
		site := r.Header.Get("Sec-Fetch-Site")
		if r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, sharedPath) {
			return true // a link is followed from any site; its page can't read the reply
		}
		return site == "" || site == "same-origin" || site == "none"
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host) || slices.Contains(g.origins, origin)
}

// page sets which sites may embed the chat in a frame, and restricts it to its own files and the site of the avatar.
func (g guard) page(next http.Handler, avatarURL string) http.Handler {
	avatar := ""
	if at, err := url.Parse(avatarURL); err == nil && at.Host != "" {
		avatar = " " + at.Scheme + "://" + at.Host
	}
	frames := "'none'"
	if len(g.origins) > 0 {
		frames = strings.Join(g.origins, " ")
	}
	service, frame := "", "'none'"
	if g.verify.on() {
		_, frame = g.verify.service()
		service = " " + frame
	}
	policy := "default-src 'none'; script-src 'self'" + service + "; style-src 'self'" + service + "; img-src 'self' data:" + avatar + "; media-src 'self' blob:; " +
		"connect-src 'self'" + service + "; frame-src " + frame + "; base-uri 'none'; form-action 'none'; frame-ancestors "
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		within := frames
		if r.URL.Path == loginPath {
			within = "'none'" // no other site covers it with something else
		}
		rw.Header().Set("Content-Security-Policy", policy+within)
		rw.Header().Set("Cross-Origin-Resource-Policy", "cross-origin") // other sites load the script; the API has its own checks
		next.ServeHTTP(rw, r)
	})
}

// ownSite is the name of the gateway's own page, and of programs, among the sites of [guard.site].
const ownSite = "own"

// site returns the listed site that a request comes from, or [ownSite].
func (g guard) site(r *http.Request) string {
	if origin := r.Header.Get("Origin"); slices.Contains(g.origins, origin) {
		return origin
	}
	return ownSite
}

// client returns the address that limits count: for IPv6 the /64 network, because one visitor has all of it.
// X-Forwarded-For is read from its end, as each proxy appends the address of its peer, and only as far as trusted
// proxies wrote it: earlier addresses may be invented by the client. An address that can't be read is the zero prefix,
// which all such requests share.
func (g guard) client(r *http.Request) netip.Prefix {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Prefix{}
	}
	addr := ap.Addr().Unmap()
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && g.trusted(addr); i-- {
		hop, ok := parseHop(hops[i])
		if !ok {
			break
		}
		addr = hop
	}
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	p, _ := addr.WithZone("").Prefix(bits)
	return p
}

// parseHop parses an element of X-Forwarded-For. Some proxies add the port, and some put an IPv6 address in brackets.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if ap, err := netip.ParseAddrPort(text); err == nil {
		return ap.Addr().Unmap(), true
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		text = strings.TrimSuffix(inner, "]")
	}
	addr, err := netip.ParseAddr(text)
	return addr.Unmap(), err == nil
}

func (g guard) trusted(a netip.Addr) bool {
	return slices.ContainsFunc(g.proxies, func(p netip.Prefix) bool { return p.Contains(a) })
}
