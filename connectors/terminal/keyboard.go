package terminal

import (
	"bytes"
	"cmp"
	"io"
	"sync"
)

const interruptKey = 3 // Ctrl-C, which a raw terminal hands on as a character

// keyboard reads what is typed, also while nobody asks for it: Ctrl-C must be heard at any time, and the rest waits for
// the next prompt. It is read a line at a time, so that what was typed for the next message is no answer to what is asked
// meanwhile.
type keyboard struct {
	mu        sync.Mutex
	more      sync.Cond
	typed     bytes.Buffer
	later     []byte // was typed before something was asked
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
	k.err = cmp.Or(k.err, err)
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
	if end := bytes.IndexByte(k.typed.Bytes(), '\r') + 1; end > 0 && end < len(p) {
		p = p[:end]
	}
	return k.typed.Read(p)
}

// setAside keeps what is typed already from whoever reads, until it is brought back.
func (k *keyboard) setAside() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.later = append(k.later, k.typed.Bytes()...)
	k.typed.Reset()
}

// bringBack undoes setAside. What was typed since comes behind.
func (k *keyboard) bringBack() {
	k.mu.Lock()
	defer k.mu.Unlock()
	since := bytes.Clone(k.typed.Bytes())
	k.typed.Reset()
	k.typed.Write(k.later)
	k.typed.Write(since)
	k.later = nil
	k.more.Broadcast()
}

// press does what Ctrl-C does.
func (k *keyboard) press() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.interrupt != nil {
		k.interrupt()
	}
}
