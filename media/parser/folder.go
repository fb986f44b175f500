package parser

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// folderName begins the names of the folders of processes. The rest is random.
const folderName = "parley-reader-"

// folder is the folder of one process for its temporary files. The parent holds its lock, which shows that the folder
// is in use, also to other gateways on the same machine.
type folder struct {
	path string
	lock *os.File
}

// newFolder makes a folder and locks it.
func newFolder() (folder, error) {
	for range 3 { // a gateway that starts right now can have removed it before it was locked
		path, err := os.MkdirTemp("", folderName)
		if err != nil {
			return folder{}, err
		}
		f := folder{path: path}
		if f.lock, err = lock(path, true); err == nil {
			if _, err = os.Stat(path); err == nil {
				return f, nil
			}
		}
		f.remove()
	}
	return folder{}, errors.New("it was removed at once")
}

// remove removes the folder and everything in it. The next start removes the rest if that fails.
func (f folder) remove() {
	_ = os.RemoveAll(f.path)
	if f.lock != nil {
		_ = f.lock.Close()
	}
}

// isFolder reports whether a path is that of a process's folder.
func isFolder(path string) bool { return strings.HasPrefix(filepath.Base(path), folderName) }

// sweep removes the folders whose gateway was killed: those whose lock is free.
func sweep() {
	left, err := filepath.Glob(filepath.Join(os.TempDir(), folderName+"*"))
	if err != nil {
		return
	}
	for _, path := range left {
		if info, err := os.Lstat(path); err != nil || !info.IsDir() {
			continue
		}
		if held, err := lock(path, false); err == nil {
			folder{path, held}.remove()
		}
	}
}
