package connectors

import "sync"

// Jobs runs jobs in the background: a bounded number at a time, in order within a key, with keys taking turns, so that
// a key with many jobs does not delay the others. Unlike [Intake] it neither repeats nor stores anything, so it is for
// jobs that may be lost. It is safe for concurrent use. Its goroutines end when there is nothing to do.
type Jobs[K comparable] struct {
	mostWorkers, mostWaiting int

	mu      sync.Mutex
	queues  map[K][]func() // by key; while a worker runs a job of a key, its other jobs wait
	ready   []K            // keys with jobs and no worker
	waiting int
	workers int
	all     sync.WaitGroup
}

// NewJobs returns Jobs that run at most workers jobs at a time and queue at most waiting.
func NewJobs[K comparable](workers, waiting int) *Jobs[K] {
	return &Jobs[K]{mostWorkers: workers, mostWaiting: waiting, queues: map[K][]func(){}}
}

// Add queues a job without blocking. It reports whether there was room. A job must bound its own time, because Wait
// waits for it.
func (j *Jobs[K]) Add(key K, job func()) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.waiting >= j.mostWaiting {
		return false
	}
	j.waiting++
	queue, known := j.queues[key]
	j.queues[key] = append(queue, job)
	// A worker runs a job of this key, or the key is in ready already.
	if known {
		return true
	}
	j.ready = append(j.ready, key)
	if j.workers < j.mostWorkers {
		j.workers++
		j.all.Go(j.work)
	}
	return true
}

// Wait returns when all jobs are done. Meanwhile only jobs may add others.
func (j *Jobs[K]) Wait() { j.all.Wait() }

// work runs jobs until none is left for this worker.
func (j *Jobs[K]) work() {
	for {
		key, job, ok := j.take()
		if !ok {
			return
		}
		job()
		j.done(key)
	}
}

// take returns the first job of the next key. If there is none, the worker counts as ended, in the same critical
// section, so that Add starts another one.
func (j *Jobs[K]) take() (key K, job func(), ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.ready) == 0 {
		j.workers--
		return key, nil, false
	}
	key, j.ready = j.ready[0], j.ready[1:]
	job, j.queues[key] = j.queues[key][0], j.queues[key][1:]
	j.waiting--
	return key, job, true
}

// done requeues a key that has more jobs, behind all others.
func (j *Jobs[K]) done(key K) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.queues[key]) == 0 {
		delete(j.queues, key)
		return
	}
	j.ready = append(j.ready, key)
}
