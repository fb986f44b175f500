package main_test

import (
	"os"
	"strings"
	"testing"
)

// Before the first start there is nothing to read: commands that need the store say what to do, and create no file.
func TestCommandsBeforeTheFirstStart(t *testing.T) {
	for _, line := range []string{
		"pair --list", "pair --web", "pair AAAA-BBBB", "pair --remove telegram:1", "runs", "runs list", "runs retry x", "status",
		"person export telegram:1", "person export telegram:1 -o ada.json", "person delete telegram:1 --yes", "restore --confirm", "migrate --to postgres://127.0.0.1:1/x",
	} {
		t.Run(line, func(t *testing.T) {
			c := command(t, nil, strings.Fields(line)...)
			out, err := c.CombinedOutput()
			if code := status(t, err); code != 1 {
				t.Errorf("it ends with %d", code)
			}
			if text := string(out); !strings.HasSuffix(text, "there is no store at "+c.Dir+"/parley.db yet; start the gateway first\n") || strings.Count(text, "\n") != 1 {
				t.Errorf("it says %q", out)
			}
			files, err := os.ReadDir(c.Dir)
			if err != nil || len(files) > 0 {
				t.Errorf("it left %v, %v", files, err)
			}
		})
	}
}
