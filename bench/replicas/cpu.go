package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU times in /proc.
const tick = time.Second / 100

// used returns the CPU time of a process so far. withChildren adds that of its children that have ended.
func used(pid int, withChildren bool) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read the CPU time of a process: %w", err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:])) // from the third field on: the second is a name
	if len(fields) < 15 {
		return 0, fmt.Errorf("read the CPU time of a process: %q", text)
	}
	times := fields[11:13] // in user mode, and in the kernel
	if withChildren {
		times = fields[11:15]
	}
	var all time.Duration
	for _, field := range times {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the CPU time of a process: %w", err)
		}
		all += time.Duration(n) * tick
	}
	return all, nil
}

// sample reads the CPU times of all processes.
func (w *cluster) sample() (s sample, err error) {
	s.at = time.Now()
	for _, g := range w.gateways {
		d, err := used(g.Process.Pid, false)
		if err != nil {
			return s, err
		}
		s.gateways = append(s.gateways, d)
	}
	if s.redis, err = used(w.redis.Process.Pid, false); err != nil {
		return s, err
	}
	if s.load, err = used(os.Getpid(), false); err != nil {
		return s, err
	}
	pids, err := w.postgres.Processes()
	if err != nil {
		return s, err
	}
	for _, pid := range pids {
		d, err := used(pid, pid == pids[0])
		if err != nil && pid == pids[0] { // a session can end at any time, and is then counted with its parent
			return s, err
		}
		s.postgres += d
	}
	return s, nil
}
