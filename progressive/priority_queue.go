package progressive

// priorityQueue is a heap for package heap. Each item knows its index, so that it can be removed or moved in logarithmic time.
type priorityQueue[T prioritized[T]] []T

type prioritized[T any] interface {
	before(T) bool
	place() *int // its index; -1 after it was removed
}

func (p priorityQueue[T]) Len() int           { return len(p) }
func (p priorityQueue[T]) Less(i, j int) bool { return p[i].before(p[j]) }
func (p priorityQueue[T]) Swap(i, j int) {
	p[i], p[j] = p[j], p[i]
	*p[i].place(), *p[j].place() = i, j
}

func (p *priorityQueue[T]) Push(x any) {
	item := x.(T)
	*item.place() = len(*p)
	*p = append(*p, item)
}

func (p *priorityQueue[T]) Pop() any {
	n := len(*p) - 1
	item := (*p)[n]
	clear((*p)[n:])
	*p = (*p)[:n]
	*item.place() = -1
	return item
}
