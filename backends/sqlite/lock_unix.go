//go:build unix

package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes the lock of f if it is free, and reports whether it did. It lasts until f is closed. flock belongs to
// the open file, not to the process, so a second Store in the same process is refused too; fcntl locks would not do
// that, and would be released whenever any handle of the file is closed.
func tryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
