package config

// WithListen is c with another web.listen, for a command line that overrides the
// file. The rules of the file hold: beyond this machine only with web.public.
func (c Config) WithListen(address string) (Config, error) {
	local, ok := listensLocally(address)
	switch {
	case !ok:
		return c, Problem{Message: "the address to listen on is not a host and a port", Hint: "write them with a colon, such as 127.0.0.1:8080"}
	case !local && !c.Web.Public:
		return c, Problem{Message: "the address to listen on can be reached from other machines",
			Hint: "listen on 127.0.0.1, or set web.public: true with web.origins and web.limits"}
	}
	c.Web.Listen = address
	return c, nil
}
