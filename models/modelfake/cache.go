package modelfake

import (
	"bytes"
	"slices"
	"sync"
)

// Cache is a provider's cache of prompts, by their bytes. The zero value is empty. Real ones also want a smallest length,
// and forget.
type Cache struct {
	mu      sync.Mutex
	prompts map[string][][]byte // of each model, sorted: what begins most like a prompt is next to its place
}

// Read returns how many of so many tokens of the prompt are in the cache: the share of its bytes that an earlier prompt
// of the same model began with. Then it is in the cache itself, as far as its first keep bytes.
func (c *Cache) Read(model string, prompt []byte, keep, tokens int) (cached int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.prompts[model]
	at, _ := slices.BinarySearchFunc(all, prompt, bytes.Compare)
	most := 0
	for _, before := range all[max(0, at-1):min(len(all), at+1)] {
		most = max(most, sharedPrefix(before, prompt))
	}
	if c.prompts == nil {
		c.prompts = map[string][][]byte{}
	}
	kept := prompt[:keep]
	at, found := slices.BinarySearchFunc(all, kept, bytes.Compare)
	if !found {
		c.prompts[model] = slices.Insert(all, at, kept)
	}
	if len(prompt) == 0 {
		return 0
	}
	return tokens * most / len(prompt)
}

// sharedPrefix returns how many bytes a and b begin with alike.
func sharedPrefix(a, b []byte) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
