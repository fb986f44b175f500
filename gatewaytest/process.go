package gatewaytest

import "context"

// A Process is a gateway that runs in the test's own process. Its methods can be called from several goroutines.
type Process struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

// Start calls run, such as the method Run of a gateway, in a goroutine of its own. Its context ends with ctx.
func Start(ctx context.Context, run func(context.Context) error) *Process {
	ctx, cancel := context.WithCancel(ctx)
	p := &Process{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = run(ctx)
	}()
	return p
}

// Interrupt ends the context of the process, as SIGTERM does, and does not wait.
func (p *Process) Interrupt() { p.cancel() }

// Stop interrupts the process, waits for its end, and returns the error of run. Further calls return the same error.
func (p *Process) Stop() error {
	p.cancel()
	<-p.done
	return p.err
}
