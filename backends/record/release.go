package record

import "fmt"

// NewerTables returns the error for tables that a later program has changed, so that this one can't use them. Release is the oldest
// one that can, or "" if it was not recorded; the tables have version has, and this program supports those up to knows.
func NewerTables(release string, has, knows int64) error {
	if release == "" {
		return fmt.Errorf("a newer version of the gateway wrote its tables (version %d, and this program supports up to %d); run that version, or restore "+
			"a backup from before the upgrade", has, knows)
	}
	return fmt.Errorf("a newer version of the gateway wrote its tables, and at least %s is needed for them; install that version, or restore a backup "+
		"from before the upgrade (version %d of the tables; this program supports up to %d)", release, has, knows)
}
