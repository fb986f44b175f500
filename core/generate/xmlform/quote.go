package xmlform

// code tracks whether Markdown that comes byte by byte is within code, where tags are examples. The zero value is at
// the start of a line. Code within a line ends with the line at the latest, so that a lonely backtick hides little.
type code struct {
	fence  byte // ` or ~ within a block
	length int  // of its fence
	info   bool // still on the line of the fence
	inline int  // the length of the backticks that began code within a line

	mid bool // this line has a character other than space
	run int  // length of the current run of fence signs
	of  byte
	bol bool // the run began its line
}

// in reports whether the next byte is code.
func (c *code) in() bool {
	c.settle()
	return c.fence != 0 || c.inline > 0
}

// feed takes the next byte. The meaning of a run of backticks is decided when it has ended.
func (c *code) feed(b byte) {
	if c.run > 0 && b == c.of {
		c.run++
		return
	}
	c.settle()
	switch {
	case b == '`' || b == '~' && !c.mid:
		c.run, c.of, c.bol = 1, b, !c.mid
		c.mid = true
	case b == '\n':
		c.mid, c.info, c.inline = false, false, 0
	case b != ' ' && b != '\t' && b != '\r':
		c.mid = true
	}
}

// settle decides the meaning of a run of fence signs, now that it has ended.
func (c *code) settle() {
	n := c.run
	c.run = 0
	switch {
	case n == 0:
	case c.fence != 0 && c.info && c.of == '`' && c.fence == '`': // a fence's line holds no backtick: it was code within a line
		c.inline = c.length
		c.fence, c.info = 0, false
		c.ticks(n)
	case c.fence != 0:
		if c.bol && c.of == c.fence && n >= c.length {
			c.fence = 0
		}
	case c.bol && n >= 3:
		c.fence, c.length, c.info, c.inline = c.of, n, true, 0
	case c.of == '`':
		c.ticks(n)
	}
}

// ticks handles n backticks within a line: they begin code, or end it if as many began it.
func (c *code) ticks(n int) {
	switch c.inline {
	case 0:
		c.inline = n
	case n:
		c.inline = 0
	}
}

// object tracks whether JSON that comes byte by byte is within a string. Outside of objects and lists there are none.
// It does not validate.
type object struct {
	depth   int
	str     bool
	escaped bool
	ended   bool // an outermost object or list has ended
}

// whole reports whether a complete object or list was read.
func (o *object) whole() bool { return o.ended && o.depth == 0 }

func (o *object) feed(b byte) {
	switch {
	case o.escaped:
		o.escaped = false
	case o.str:
		o.escaped = b == '\\'
		o.str = b != '"'
	case b == '{' || b == '[':
		o.depth++
	case o.depth == 0:
	case b == '"':
		o.str = true
	case b == '}' || b == ']':
		o.depth--
		o.ended = o.ended || o.depth == 0
	}
}
