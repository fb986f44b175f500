package config

// WithListen returns c with another web.listen, for a command line flag. The rules of the file apply: other machines
// require web.public.
func (c Config) WithListen(address string) (Config, error) {
	local, wrong := listensLocally(address)
	switch {
	case wrong != nil:
		return c, Problem{Message: "the address to listen on " + wrong.message, Hint: wrong.hint}
	case !local && !c.Web.Public:
		return c, Problem{Message: "the address to listen on can be reached from other machines",
			Hint: "listen on 127.0.0.1, or set web.public: true with web.origins and web.limits"}
	}
	c.Web.Listen = address
	return c, nil
}
