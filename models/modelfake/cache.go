package modelfake

import "sync"

// Cache is a provider's cache of prompts, by their bytes. The zero value is empty. Real ones also want a smallest length,
// and forget.
type Cache struct {
	mu      sync.Mutex
	prompts map[string][][]byte
}

// Read returns how many of so many tokens of the prompt are in the cache: the share of its bytes that an earlier prompt
// of the same model began with. Then it is in the cache itself, as far as its first keep bytes.
func (c *Cache) Read(model string, prompt []byte, keep, tokens int) (cached int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := 0
	for _, before := range c.prompts[model] {
		n := 0
		for n < len(before) && n < len(prompt) && before[n] == prompt[n] {
			n++
		}
		most = max(most, n)
	}
	if c.prompts == nil {
		c.prompts = map[string][][]byte{}
	}
	c.prompts[model] = append(c.prompts[model], prompt[:keep])
	if len(prompt) == 0 {
		return 0
	}
	return tokens * most / len(prompt)
}
