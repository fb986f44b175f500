package redis

import (
	"crypto/tls"
	"errors"

	goredis "github.com/redis/go-redis/v9"
)

// ErrRefused means that the server is there and does not accept the connection, for a reason that doesn't pass by itself.
var ErrRefused = errors.New("redis: the connection is refused; check the user, the password and their rights, and with rediss:// the certificate")

// refused reports whether err lasts until someone changes the configuration, of the gateway or of the server.
func refused(err error) bool {
	for _, prefix := range []string{"WRONGPASS", "NOAUTH", "NOPERM"} {
		if goredis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &certificate)
}
