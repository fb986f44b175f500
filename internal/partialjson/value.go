package partialjson

// put places a value that begins or is complete: in the innermost open object or array, or as the root.
func (r *Reader) put(v any) {
	if len(r.open) == 0 {
		r.root = v
		return
	}
	c := &r.open[len(r.open)-1]
	if c.object != nil {
		if _, known := c.object[c.name]; len(r.open) == 1 && !known {
			r.names = append(r.names, c.name)
		}
		c.object[c.name] = v
		return
	}
	c.array = append(c.array, v)
	r.grown()
}

// change replaces the value that was put last.
func (r *Reader) change(v any) {
	if len(r.open) == 0 {
		r.root = v
		return
	}
	c := &r.open[len(r.open)-1]
	if c.object != nil {
		c.object[c.name] = v
	} else {
		c.array[len(c.array)-1] = v
	}
}

// grown stores the array that was appended to in its container again, because append may have moved it.
func (r *Reader) grown() {
	last := len(r.open) - 1
	array := r.open[last].array
	if last == 0 {
		r.root = array
		return
	}
	if up := &r.open[last-1]; up.object != nil {
		up.object[up.name] = array
	} else {
		up.array[len(up.array)-1] = array
	}
}

// push opens c, which is put in its place at once, so that it is visible while it is empty.
func (r *Reader) push(c container, then state) {
	if len(r.open) == maxDepth {
		r.err = errDepth
		return
	}
	if c.object != nil {
		r.put(c.object)
	} else {
		r.put(c.array)
	}
	r.open = append(r.open, c)
	r.at = then
}

// close ends the innermost object or array.
func (r *Reader) close() {
	r.open = r.open[:len(r.open)-1]
	r.ended()
}

// ended continues after a value.
func (r *Reader) ended() {
	r.at = commaOrEnd
	if len(r.open) == 0 {
		r.at = nothingMore
	}
}
