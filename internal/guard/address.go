package guard

import (
	"net/netip"
)

// inside lists the ranges that are not on the public internet and that [netip.Addr] has no method for: first IPv4, then
// IPv6, including the ways to write an IPv4 address in IPv6, by which a private address could be disguised.
var inside = []netip.Prefix{ // never changed; from IANA's registries of special-purpose addresses, November 2026
	netip.MustParsePrefix("0.0.0.0/8"),        // this network
	netip.MustParsePrefix("100.64.0.0/10"),    // carrier-grade NAT; also Alibaba's metadata, 100.100.100.200
	netip.MustParsePrefix("192.0.0.0/24"),     // IETF protocols; also Oracle's metadata, 192.0.0.192
	netip.MustParsePrefix("192.0.2.0/24"),     // documentation
	netip.MustParsePrefix("192.88.99.0/24"),   // 6to4 relays
	netip.MustParsePrefix("198.18.0.0/15"),    // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"),  // documentation
	netip.MustParsePrefix("203.0.113.0/24"),   // documentation
	netip.MustParsePrefix("240.0.0.0/4"),      // reserved, and broadcast
	netip.MustParsePrefix("168.63.129.16/32"), // Azure's own services, which look public

	netip.MustParsePrefix("::/96"),           // IPv4-compatible
	netip.MustParsePrefix("::ffff:0:0:0/96"), // IPv4-translated
	netip.MustParsePrefix("64:ff9b::/96"),    // NAT64
	netip.MustParsePrefix("64:ff9b:1::/48"),  // NAT64 of a network's own
	netip.MustParsePrefix("100::/64"),        // discarded
	netip.MustParsePrefix("2001::/23"),       // IETF protocols, Teredo among them
	netip.MustParsePrefix("2001:db8::/32"),   // documentation
	netip.MustParsePrefix("2002::/16"),       // 6to4
	netip.MustParsePrefix("3fff::/20"),       // documentation
	netip.MustParsePrefix("5f00::/16"),       // segment routing
	netip.MustParsePrefix("fec0::/10"),       // site-local, of old
}

// public reports whether ip is on the public internet. Metadata services of clouds, private networks and this machine
// are not.
func public(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if !ip.IsValid() || !ip.IsGlobalUnicast() || ip.IsPrivate() { // global leaves out loopback, link-local and multicast
		return false
	}
	for _, p := range inside {
		if p.Contains(ip) {
			return false
		}
	}
	return true
}
