package connectors

import "sync"

// Jobs runs what is not to be waited for: a bounded number of jobs at a time, those of one key one after the other in
// order, keys in turn. It is safe for concurrent use.
type Jobs[K comparable] struct {
	mostWorkers, mostWaiting int

	mu      sync.Mutex
	queues  map[K][]func() // by key; while a worker has one of a key, the rest of it waits
	ready   []K            // keys with jobs that no worker has
	waiting int
	workers int
	all     sync.WaitGroup
}

// NewJobs returns Jobs of which so many run and so many wait at most.
func NewJobs[K comparable](workers, waiting int) *Jobs[K] {
	return &Jobs[K]{mostWorkers: workers, mostWaiting: waiting, queues: map[K][]func(){}}
}

// Add queues a job and returns at once. It reports whether there was room.
func (j *Jobs[K]) Add(key K, job func()) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.waiting >= j.mostWaiting {
		return false
	}
	j.waiting++
	queue, known := j.queues[key]
	j.queues[key] = append(queue, job)
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

// Wait returns when all jobs are done. Only a job can add another one meanwhile.
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

// take returns the first job of the key whose turn it is.
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

// done gives the rest of a key another turn.
func (j *Jobs[K]) done(key K) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.queues[key]) == 0 {
		delete(j.queues, key)
		return
	}
	j.ready = append(j.ready, key)
}
