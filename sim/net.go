// Package sim runs whole programs in memory, with a fake clock, an unreliable network and unreliable platforms.
package sim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
)

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// Net is a TCP network in memory. Its blocking operations block durably, so that a whole program with its servers and
// clients runs on the clock of a testing/synctest bubble. All methods are safe for concurrent use.
//
// Hosts are IP addresses or any names: a name gets an address of its own (10.0.0.0/8) when it is first used, and is
// reached by either. No host, "localhost" and the unspecified addresses are 127.0.0.1.
type Net struct {
	mu        sync.Mutex
	hosts     map[string]netip.Addr
	listeners map[netip.AddrPort]*listener
	pairs     map[*pair]netip.AddrPort // of each open connection, the listener it was made with
	ports     uint16                   // handed out so far
}

// NewNet returns a network without listeners.
func NewNet() *Net {
	return &Net{
		hosts:     map[string]netip.Addr{},
		listeners: map[netip.AddrPort]*listener{},
		pairs:     map[*pair]netip.AddrPort{},
	}
}

// Listen has the shape of net.Listen. Port 0 gets a free one; an address in use is syscall.EADDRINUSE. Close frees the
// address and leaves the accepted connections alone. There is no backlog: Dial waits for Accept.
func (n *Net) Listen(network, address string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, err := n.resolve(network, address)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Err: err}
	}
	if at.Port() == 0 {
		at = n.freePort(at.Addr())
	}
	if n.listeners[at] != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Addr: net.TCPAddrFromAddrPort(at), Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}
	}
	l := &listener{net: n, at: at, arrivals: make(chan net.Conn), closed: make(chan struct{})}
	n.listeners[at] = l
	return l, nil
}

// Dial has the signature of net.Dialer.DialContext, and returns once the connection is accepted. Without a listener it
// fails at once with syscall.ECONNREFUSED.
func (n *Net) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	n.mu.Lock()
	to, err := n.resolve(network, address)
	l := n.listeners[to]
	from := netip.AddrPortFrom(loopback, n.nextPort())
	n.mu.Unlock()
	refuse := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: net.TCPAddrFromAddrPort(to), Err: err}
	}
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	if ctx.Err() != nil {
		return refuse(context.Cause(ctx))
	}
	if l == nil {
		return refuse(os.NewSyscallError("connect", syscall.ECONNREFUSED))
	}
	near, far := n.connect(from, to)
	select {
	case l.arrivals <- far:
		return near, nil
	case <-l.closed:
		err = os.NewSyscallError("connect", syscall.ECONNREFUSED)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	near.pair.reset()
	return refuse(err)
}

// Cut breaks all connections that were made to address: both ends can still read what had arrived, then get
// syscall.ECONNRESET. The listener stays open for new connections.
func (n *Net) Cut(address string) {
	n.mu.Lock()
	at, err := n.resolve("tcp", address)
	var broken []*pair
	for p, to := range n.pairs {
		if err == nil && to == at {
			broken = append(broken, p)
		}
	}
	n.mu.Unlock()
	for _, p := range broken {
		p.reset()
	}
}

// connect creates the two ends of a connection.
func (n *Net) connect(from, to netip.AddrPort) (near, far *conn) {
	there, back := newStream(), newStream()
	p := &pair{there: there, back: back}
	p.forget = func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.pairs, p)
	}
	p.open.Store(2)
	n.mu.Lock()
	n.pairs[p] = to
	n.mu.Unlock()
	near = &conn{pair: p, in: back, out: there, local: from, remote: to}
	far = &conn{pair: p, in: there, out: back, local: to, remote: from}
	return near, far
}

// resolve requires the lock.
func (n *Net) resolve(network, address string) (netip.AddrPort, error) {
	if !slices.Contains([]string{"tcp", "tcp4", "tcp6"}, network) {
		return netip.AddrPort{}, net.UnknownNetworkError(network)
	}
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return netip.AddrPort{}, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("port of %q: %w", address, errors.Unwrap(err))
	}
	return netip.AddrPortFrom(n.host(host), uint16(port)), nil
}

func (n *Net) host(name string) netip.Addr {
	if name == "" || name == "localhost" {
		return loopback
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		if ip.IsUnspecified() {
			return loopback
		}
		return ip.Unmap()
	}
	if _, known := n.hosts[name]; !known {
		i := len(n.hosts) + 1
		n.hosts[name] = netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
	}
	return n.hosts[name]
}

func (n *Net) freePort(ip netip.Addr) netip.AddrPort {
	for {
		at := netip.AddrPortFrom(ip, n.nextPort())
		if n.listeners[at] == nil {
			return at
		}
	}
}

// nextPort walks round the ports that IANA leaves to temporary use, 49152 to 65535.
func (n *Net) nextPort() uint16 {
	n.ports++
	return 49152 + n.ports%16384
}

type listener struct {
	net      *Net
	at       netip.AddrPort
	arrivals chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
	default:
		select {
		case c := <-l.arrivals:
			return c, nil
		case <-l.closed:
		}
	}
	return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed}
}

func (l *listener) Close() error {
	err := error(&net.OpError{Op: "close", Net: "tcp", Addr: l.Addr(), Err: net.ErrClosed})
	l.once.Do(func() {
		err = nil
		l.net.mu.Lock()
		delete(l.net.listeners, l.at)
		l.net.mu.Unlock()
		close(l.closed)
	})
	return err
}

func (l *listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.at) }
