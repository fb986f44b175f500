package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// fleet is all gateways that run at the same time. It belongs to one goroutine.
type fleet struct {
	o         options
	processes []*process
	died      chan error // a process ended without being killed
	kills     []kill
}

// kill is one end of a gateway process that the soak caused. The process ended between at and ended.
type kill struct {
	at, ended time.Time
	replica   int  // the number of the gateway
	orderly   bool // by SIGTERM: the gateway had time to finish its work, so that this explains nothing
}

// launch starts the gateways of w.
func launch(binary string, w *environment) (*fleet, error) {
	f := &fleet{o: w.o, died: make(chan error, 1)}
	for i, at := range w.webAt {
		log, err := os.OpenFile(filepath.Join(w.o.dir, fmt.Sprintf("gateway%d.log", i)), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return nil, fmt.Errorf("open the gateway's log: %w", err)
		}
		p := &process{binary: binary, dir: w.o.dir, listen: at, telegram: w.telegramAt[i], replica: i, log: log, died: f.died}
		f.processes = append(f.processes, p)
		if err := p.start(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// kill ends one gateway, or now and then all of them at once; now and then by SIGTERM. One of several stays away until the next
// kill, so that the others have to take over. The only one, and all of them, start again at once.
func (f *fleet) kill() error {
	if err := f.revive(); err != nil {
		return err
	}
	victims := f.processes
	if one := rand.IntN(len(victims)); rand.Float64() >= f.o.all {
		victims = victims[one : one+1]
	}
	orderly := rand.Float64() < f.o.stops
	for _, p := range victims {
		f.kills = append(f.kills, kill{at: time.Now(), replica: p.replica, orderly: orderly})
		if err := p.signal(orderly); err != nil {
			return err
		}
	}
	started := f.kills[len(f.kills)-len(victims):]
	for i, p := range victims {
		if err := p.wait(); err != nil {
			return err
		}
		started[i].ended = time.Now()
	}
	if len(victims) < len(f.processes) {
		return nil
	}
	return f.revive()
}

// revive starts what was killed.
func (f *fleet) revive() (err error) {
	for _, p := range f.processes {
		if p.cmd == nil {
			err = errors.Join(err, p.start())
		}
	}
	return err
}

// end stops the gateways like an administrator.
func (f *fleet) end() {
	for _, p := range f.processes {
		if p.cmd != nil {
			_ = errors.Join(p.signal(true), p.wait()) // the verdict does not depend on it
		}
		_ = p.log.Close() // nothing more is written
	}
}

// process is a sequence of gateway processes at one address.
type process struct {
	binary, dir, listen string
	telegram            string // the address at which it reaches Telegram
	replica             int
	log                 *os.File
	cmd                 *exec.Cmd     // nil while there is none
	exited              chan error    // the current process has ended
	killing             chan struct{} // closed when it shall end
	died                chan error
}

func (p *process) start() error {
	p.cmd = exec.Command(p.binary, "--listen", p.listen)
	p.cmd.Dir, p.cmd.Env = p.dir, []string{"HOME=" + p.dir, "SOAK_TELEGRAM=http://" + p.telegram}
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start the gateway: %w", err)
	}
	exited, killing := make(chan error, 1), make(chan struct{})
	p.exited, p.killing = exited, killing
	go func(cmd *exec.Cmd) {
		err := cmd.Wait()
		select {
		case <-killing:
		default:
			select {
			case p.died <- errors.Join(errors.New("exit"), err):
			default:
			}
		}
		exited <- err
	}(p.cmd)
	return nil
}

// signal asks the process to end (orderly), or ends it.
func (p *process) signal(orderly bool) error {
	close(p.killing)
	sent := syscall.SIGKILL
	if orderly {
		sent = syscall.SIGTERM
	}
	fmt.Fprintf(p.log, "-- %v at %s\n", sent, time.Now().Format(time.RFC3339Nano))
	if err := p.cmd.Process.Signal(sent); err != nil {
		return fmt.Errorf("end the gateway: %w", err)
	}
	return nil
}

// endsWithin is the longest time that a gateway can take to end: shutdown, and as much again on a loaded machine.
const endsWithin = time.Minute

// wait returns when the process has ended after a signal. It fails if the process takes too long or reports a failure.
func (p *process) wait() error {
	var err error
	select {
	case err = <-p.exited:
	case <-time.After(endsWithin):
		_ = p.cmd.Process.Kill() // it may have ended meanwhile
		err = errors.Join(fmt.Errorf("the gateway did not end within %v", endsWithin), <-p.exited)
	}
	p.cmd = nil
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == -1 {
		return nil // by the signal itself
	}
	if err != nil {
		return fmt.Errorf("end the gateway: %w", err)
	}
	return nil
}
