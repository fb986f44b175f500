package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// process is the sequence of gateway processes. It belongs to one goroutine.
type process struct {
	binary, dir string
	log         *os.File
	cmd         *exec.Cmd
	exited      chan error // the current process has ended
	died        chan error // a process ended without being killed
	killing     chan struct{}
	kills       []time.Time
}

func launch(binary, dir string) (*process, error) {
	log, err := os.OpenFile(filepath.Join(dir, "gateway.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the gateway's log: %w", err)
	}
	p := &process{binary: binary, dir: dir, log: log, died: make(chan error, 1)}
	return p, p.start()
}

func (p *process) start() error {
	p.cmd = exec.Command(p.binary)
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

// restart kills the gateway and starts it again at once.
func (p *process) restart() error {
	close(p.killing)
	p.kills = append(p.kills, time.Now())
	if err := p.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill the gateway: %w", err)
	}
	<-p.exited
	fmt.Fprintf(p.log, "-- killed at %s\n", time.Now().Format(time.RFC3339Nano))
	return p.start()
}

// end stops the gateway like an administrator.
func (p *process) end() {
	close(p.killing)
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	select {
	case <-p.exited:
	case <-time.After(30 * time.Second):
		_ = p.cmd.Process.Kill() // it may have ended meanwhile
		<-p.exited
	}
	_ = p.log.Close() // nothing more is written
}
