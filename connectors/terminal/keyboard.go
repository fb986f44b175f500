package terminal

import (
	"bytes"
	"cmp"
	"io"
	"sync"
)

const interruptKey = 3 // Ctrl-C, which a raw terminal delivers as a character

// keyboard reads the input all the time, because Ctrl-C must work at any time; other input waits for the next prompt.
// It delivers whole lines, so that input typed for the next message does not answer a question asked meanwhile. It is
// safe for concurrent use; mu guards everything, and more is signaled when typed or err changes.
type keyboard struct {
	mu        sync.Mutex
	more      sync.Cond
	typed     bytes.Buffer
	later     []byte // typed before a question appeared
	err       error
	interrupt func() // handles Ctrl-C; nil treats it as an ordinary character
	instead   []byte // input that replaces the Ctrl-C
}

// newKeyboard reads in until it ends. A pending read can't be canceled, so its goroutine can live as long as the
// process.
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

// take adds input. Ctrl-C is handled here, ahead of input that waits, and is replaced so that the line editor does not
// see it.
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

// onInterrupt sets the handler of Ctrl-C, and the input that replaces it. f must not wait for keys.
func (k *keyboard) onInterrupt(f func(), instead string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.interrupt, k.instead = f, []byte(instead)
}

// hangUp ends current and future reads with io.EOF, and discards the pending input: nothing typed before may be sent
// after the end.
func (k *keyboard) hangUp() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.err = io.EOF
	k.typed.Reset()
	k.more.Broadcast()
}

// Read implements [io.Reader]. It blocks until there is input, and returns at most one line.
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

// setAside hides the pending input from readers until bringBack: it was typed before the user could see the question.
func (k *keyboard) setAside() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.later = append(k.later, k.typed.Bytes()...)
	k.typed.Reset()
}

// bringBack restores the hidden input ahead of the keys typed since.
func (k *keyboard) bringBack() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.typed = *bytes.NewBuffer(append(k.later, k.typed.Bytes()...))
	k.later = nil
	k.more.Broadcast()
}

// press calls the handler of Ctrl-C, as if the key had been pressed.
func (k *keyboard) press() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.interrupt != nil {
		k.interrupt()
	}
}
