package parley

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"syscall"

	"parley/config"
	"parley/connectors/web/certificates"
	"parley/internal/local"
)

// securePorts are the addresses of web.tls: for readers, and for those that come without TLS. Certificate authorities check a
// domain only at these ports.
var securePorts = [2]string{":443", ":80"}

// secure returns the certificates of web.tls; nil without domains. It listens on the ports that they need.
func secure(cfg config.Config, env Env) (*certificates.Certificates, error) {
	if len(cfg.Web.TLS) == 0 {
		return nil, nil
	}
	dir := local.Beside(cfg, ".certificates")
	if dir == "" {
		return nil, errors.New("find a folder for certificates: there is no cache directory; set HOME")
	}
	var listeners []net.Listener
	for _, address := range securePorts {
		l, err := env.Listen("tcp", address)
		if err != nil {
			for _, open := range listeners {
				_ = open.Close()
			}
			return nil, &listenError{address, secureAdvice(err), err}
		}
		listeners = append(listeners, l)
	}
	return certificates.New(certificates.Options{
		Domains: cfg.Web.TLS, Dir: dir, Authority: env.Authority, Secure: listeners[0], Plain: listeners[1], Log: env.Log,
	}), nil
}

// secureAdvice returns what to do when a port of web.tls can't be listened on.
func secureAdvice(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return "web.tls needs the right to use it: run the gateway as a service of the machine, or once: sudo setcap cap_net_bind_service=+ep PATH_OF_GATEWAY"
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return "web.tls needs it: stop the other program, or remove web.tls and let that program be the proxy with TLS"
	}
	return "web.tls needs it"
}

// lookup returns the addresses of a name, as [net.Resolver.LookupHost] does.
type lookup func(ctx context.Context, name string) ([]string, error)

// checkSecure tests whether the ports of web.tls are free, and whether its domains lead to this machine.
func checkSecure(ctx context.Context, cfg config.Config, env Env, find lookup) (string, error) {
	if !local.Running(ctx, cfg) {
		for _, address := range securePorts {
			l, err := env.Listen("tcp", address)
			if err != nil {
				return "", &listenError{address, secureAdvice(err), err}
			}
			_ = l.Close()
		}
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return "", fmt.Errorf("find the addresses of this machine: %w", err)
	}
	var elsewhere []string
	for _, domain := range cfg.Web.TLS {
		found, err := find(ctx, domain)
		if err != nil {
			return "", fmt.Errorf("find %s: %w; add a record for it that leads to this machine at your name server", domain, err)
		}
		here := slices.ContainsFunc(found, func(a string) bool {
			return slices.ContainsFunc(own, func(o net.Addr) bool { n, ok := o.(*net.IPNet); return ok && n.IP.Equal(net.ParseIP(a)) })
		})
		if !here {
			elsewhere = append(elsewhere, domain+" leads to "+strings.Join(found, ", "))
		}
	}
	if len(elsewhere) > 0 {
		return "", warning(strings.Join(elsewhere, "; ") + ", which this machine does not have: fine if a router there passes the ports 80 and 443 on to it, otherwise no certificate is issued")
	}
	return fmt.Sprintf("%s: leads to this machine; its certificates are kept in %s", strings.Join(cfg.Web.TLS, ", "), local.Beside(cfg, ".certificates")), nil
}
