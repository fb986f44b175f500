package text_test

import (
	"testing"

	"parley/core/text"
)

// Names of actions and tools in the usual ways of writing become words.
func TestNameLabel(t *testing.T) {
	for name, want := range map[string]string{
		"PLAY_MUSIC": "Play music", "read_text_file": "Read text file", "read-text-file": "Read text file", "readTextFile": "Read text file",
		"shop.orders/get": "Shop orders get", "LOOK": "Look", "getOrder2": "Get order2", "__": "", "": "", "ÄNDERE_NAMEN": "Ändere namen",
	} {
		if got := text.NameLabel(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
