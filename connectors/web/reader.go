package web

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"parley/core/chat"
)

// Owner is the account of the person who runs the gateway, in every conversation: a program that sends the local token, or a
// browser that is logged in. It can't be the account of a visitor, whose name ends with a conversation's id.
const Owner chat.EntityID = Name + "/owner"

// reader describes the sender of a request. The sender's rights follow from it.
type reader struct {
	owner bool
	// details reports whether they see how answers come about: names, parameters and raw results of calls, and names of
	// models and services. All others see what [answer.Tool.Public] returns.
	details bool
}

// author returns the account of the reader in a conversation. A visitor has one for each.
func (r reader) author(room chat.RoomID) chat.EntityID {
	if r.owner {
		return Owner
	}
	return visitor(room)
}

// private reports whether only this machine can reach the gateway: it listens on loopback, and nothing says that a proxy or
// another site brings visitors.
func private(o Options) bool {
	if o.Public || len(o.Proxies) > 0 || !onLoopback(o.Listener.Addr().String()) {
		return false
	}
	return !slices.ContainsFunc(o.Origins, func(origin string) bool {
		u, err := url.Parse(origin)
		return err != nil || !onLoopback(u.Host)
	})
}

// onLoopback reports whether a host, with a port or without, is this machine alone.
func onLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// forwarded reports whether a proxy has passed r on. A proxy on this machine makes requests of the whole world look local.
func forwarded(r *http.Request) bool {
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Forwarded") || name == "Forwarded" || name == "Via" || name == "X-Real-Ip" {
			return true
		}
	}
	return false
}
