package sim

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// pair is the state shared by the two ends of a connection.
type pair struct {
	there, back *stream
	open        atomic.Int32 // ends that are not closed
	forget      func()
}

// reset breaks both directions at the same time: who learns of it by one of them must not be able to write to the other.
func (p *pair) reset() {
	both := [...]*stream{p.there, p.back}
	for _, s := range both {
		s.mu.Lock()
		s.broken = true
	}
	for _, s := range both {
		s.changed.Broadcast()
		s.mu.Unlock()
	}
	p.forget()
}

// conn is one end of a connection.
type conn struct {
	*pair
	in, out       *stream
	local, remote netip.AddrPort
	closed        atomic.Bool
	abort         atomic.Bool // Close resets
}

var _ net.Conn = (*conn)(nil)

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, c.explain("read", err)
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.out.write(p)
	return n, c.explain("write", err)
}

func (c *conn) Close() error {
	if c.closed.Swap(true) {
		return c.explain("close", net.ErrClosed)
	}
	if c.abort.Load() {
		c.reset()
	}
	c.in.closeReader()
	c.out.closeWriter()
	if c.open.Add(-1) == 0 {
		c.forget()
	}
	return nil
}

// SetLinger does what net.TCPConn's does with 0: Close then resets the connection. Other values mean an ordinary Close.
func (c *conn) SetLinger(seconds int) error {
	c.abort.Store(seconds == 0)
	return nil
}

func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *conn) SetReadDeadline(t time.Time) error {
	if c.closed.Load() {
		return c.explain("set", net.ErrClosed)
	}
	c.in.setDeadline(&c.in.reading, t)
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	if c.closed.Load() {
		return c.explain("set", net.ErrClosed)
	}
	c.out.setDeadline(&c.out.writing, t)
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return net.TCPAddrFromAddrPort(c.local) }
func (c *conn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.remote) }

// explain wraps err like package net, which returns only io.EOF unwrapped.
func (c *conn) explain(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	var number syscall.Errno
	if errors.As(err, &number) {
		err = os.NewSyscallError(op, number)
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}
