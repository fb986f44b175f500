package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/config"
)

// dotEnv is the file with secrets, next to the configuration.
const dotEnv = ".env"

// setupFiles are the files that a setup writes.
type setupFiles struct{ config, env string }

func filesFor(path string) setupFiles {
	return setupFiles{config: path, env: filepath.Join(filepath.Dir(path), dotEnv)}
}

// writable reports an error if files can't be made in the folder.
func (f setupFiles) writable() error {
	dir := filepath.Dir(f.config)
	file, err := os.CreateTemp(dir, ".parley-init-*")
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder %s does not exist; make it first, or name another one with --config DIR/config.yaml", dir)
	} else if err != nil {
		return fmt.Errorf("the folder %s can't be written: %w; name another one with --config DIR/config.yaml", dir, err)
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// existing returns the name of a file that would be replaced, or "".
func (f setupFiles) existing() string {
	for _, name := range []string{f.config, f.env} {
		if _, err := os.Lstat(name); err == nil {
			return name
		}
	}
	return ""
}

// write writes both files, or none. Other variables in the file with secrets stay.
func (f setupFiles) write(text string, env map[string]string) error {
	secrets, err := f.merge(env)
	if err != nil {
		return err
	}
	var temps []string
	defer func() {
		for _, name := range temps {
			_ = os.Remove(name) // after an error; otherwise it has its new name
		}
	}()
	for _, data := range []string{secrets, text} {
		file, err := os.CreateTemp(filepath.Dir(f.config), ".parley-init-*") // readable by its owner only
		if err != nil {
			return err
		}
		temps = append(temps, file.Name())
		_, err = file.WriteString(data)
		if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
			return err
		}
	}
	if err := os.Rename(temps[0], f.env); err != nil {
		return err
	}
	return os.Rename(temps[1], f.config)
}

// handOver copies both files to a folder that only the service can enter. A missing file counts as an empty one.
func (f setupFiles) handOver(dir string) error {
	for _, name := range []string{f.config, f.env} {
		data, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		file, err := os.CreateTemp(dir, ".parley-reload-*") // the service can't replace it by a link to another file of root
		if err != nil {
			return err
		}
		_, err = file.Write(data)
		err = errors.Join(err, file.Chmod(0o444), file.Close())
		if err == nil {
			err = os.Rename(file.Name(), filepath.Join(dir, filepath.Base(name)))
		}
		if err != nil {
			return errors.Join(err, os.Remove(file.Name()))
		}
	}
	return nil
}

// merge returns the content of the file with secrets, with env in it.
func (f setupFiles) merge(env map[string]string) (string, error) {
	old, err := os.ReadFile(f.env)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var b strings.Builder
	for line := range strings.Lines(string(old)) {
		if name, _, _, _ := config.DotEnvLine(line); env[name] == "" {
			b.WriteString(strings.TrimRight(line, "\r\n") + "\n")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		fmt.Fprintf(&b, "%s=%s\n", name, env[name])
	}
	return b.String(), nil
}
