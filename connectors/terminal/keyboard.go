package terminal

import (
	"bytes"
	"io"
	"sync"
)

const interruptKey = 3 // Ctrl-C, which a raw terminal hands on as a character

// keyboard reads what is typed, also while nobody asks for it: Ctrl-C must be heard at any time, and the rest waits for
// the next prompt.
type keyboard struct {
	mu        sync.Mutex
	more      sync.Cond
	typed     bytes.Buffer
	err       error
	interrupt func() // what Ctrl-C means now; nil makes it a character like others
	instead   []byte // and what is typed then in its place
}

// newKeyboard reads in until it ends. Nothing can end a read under way: its goroutine lives as long as the process may.
func newKeyboard(in io.Reader) *keyboard {
	k := &keyboard{}
	k.more.L = &k.mu
	go func() {
		buf := make([]byte, 1024)
		for {
			n, err := in.Read(buf)
			if k.take(buf[:n], err); err != nil {
				return
			}
		}
	}()
	return k
}

func (k *keyboard) take(keys []byte, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.interrupt != nil && bytes.IndexByte(keys, interruptKey) >= 0 {
		k.interrupt()
		keys = bytes.ReplaceAll(keys, []byte{interruptKey}, k.instead)
	}
	k.typed.Write(keys)
	k.err = err
	k.more.Broadcast()
}

// onInterrupt says what Ctrl-C means from now on, and what is typed in its place. f must not wait for keys.
func (k *keyboard) onInterrupt(f func(), instead string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.interrupt, k.instead = f, []byte(instead)
}

// hangUp makes whoever reads, now or later, see the end.
func (k *keyboard) hangUp() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.err = io.EOF
	k.typed.Reset()
	k.more.Broadcast()
}

// Read implements [io.Reader].
func (k *keyboard) Read(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.typed.Len() == 0 && k.err == nil {
		k.more.Wait()
	}
	if k.typed.Len() == 0 {
		return 0, k.err
	}
	return k.typed.Read(p)
}
