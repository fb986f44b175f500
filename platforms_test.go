package parley_test

import (
	"fmt"
	"strings"
	"testing"

	"parley"
	"parley/config"
	"parley/connectors"
	"parley/internal/require"
	"parley/internal/sections"
)

// Each platform of the catalog describes itself completely: it can be turned on, and its examples of ids are valid.
func TestPlatformsDescribeThemselves(t *testing.T) {
	unset := func(string) (string, bool) { return "", false }
	cfg := require.Value(parley.DefaultConfig(unset))(t)
	off := strings.Join(cfg.Off(), "\n")
	for _, s := range parley.Platforms() {
		if _, ok := s.Values.(connectors.Settings); !ok {
			t.Errorf("%s: %T can't make a connector", s.Name, s.Values)
		}
		if s.About == "" || s.Account.Pattern == "" || !strings.Contains(off, s.Title+" is off: set "+strings.ToUpper(s.Name)+"_TOKEN, or connectors."+s.Name+"."+s.Secret) {
			t.Errorf("the description of %s is incomplete; off are:\n%s", s.Name, off)
		}
		for key, id := range map[string]sections.ID{
			"people: {owners: ['%s:%s']}": s.Account, "access: {rooms: ['%s:%s']}": s.Chat, "access: {rooms: ['%s:server:%s']}": s.World,
			"people: {staff: ['%s:role:%s']}": s.Role,
		} {
			yaml := fmt.Sprintf(key, s.Name, id.Example)
			if _, err := config.Parse("", []byte(yaml), "", unset, s); (err == nil) != (id.Pattern != "") {
				t.Errorf("%s: error %v", yaml, err)
			}
		}
	}
}
