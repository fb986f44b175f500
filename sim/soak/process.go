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
	processes []*process
	died      chan error // a process ended without being killed
	kills     []time.Time
}

// launch starts the gateways of w.
func launch(binary string, w *world) (*fleet, error) {
	f := &fleet{died: make(chan error, 1)}
	for i, at := range w.webAt {
		log, err := os.OpenFile(filepath.Join(w.o.dir, fmt.Sprintf("gateway%d.log", i)), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return nil, fmt.Errorf("open the gateway's log: %w", err)
		}
		p := &process{binary: binary, dir: w.o.dir, listen: at, log: log, died: f.died}
		f.processes = append(f.processes, p)
		if err := p.start(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// kill kills one gateway. The only one starts again at once; one of several stays away until the next kill, so that the others
// have to take over.
func (f *fleet) kill() error {
	if err := f.revive(); err != nil {
		return err
	}
	p := f.processes[rand.IntN(len(f.processes))]
	f.kills = append(f.kills, time.Now())
	if err := p.kill(); err != nil || len(f.processes) > 1 {
		return err
	}
	return p.start()
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
		p.end()
	}
}

// process is a sequence of gateway processes at one address.
type process struct {
	binary, dir, listen string
	log                 *os.File
	cmd                 *exec.Cmd     // nil while there is none
	exited              chan error    // the current process has ended
	killing             chan struct{} // closed when it shall end
	died                chan error
}

func (p *process) start() error {
	p.cmd = exec.Command(p.binary, "--listen", p.listen)
	p.cmd.Dir, p.cmd.Env = p.dir, []string{"HOME=" + p.dir}
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

// kill ends the gateway at once.
func (p *process) kill() error {
	close(p.killing)
	if err := p.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill the gateway: %w", err)
	}
	<-p.exited
	p.cmd = nil
	fmt.Fprintf(p.log, "-- killed at %s\n", time.Now().Format(time.RFC3339Nano))
	return nil
}

func (p *process) end() {
	if p.cmd != nil {
		close(p.killing)
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
		select {
		case <-p.exited:
		case <-time.After(30 * time.Second):
			_ = p.cmd.Process.Kill() // it may have ended meanwhile
			<-p.exited
		}
	}
	_ = p.log.Close() // nothing more is written
}
