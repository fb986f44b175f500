package sqlite

import (
	"fmt"
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// defend makes all connections defensive that this process opens from then on: SQLite refuses statements on them that write to the
// schema or to the internal tables of an index, whatever error in the store or in SQLite lets them come about. A connection of
// zombiezen.com/go/sqlite can't be made defensive after it was opened: SetDefensive of version 1.4.2 passes one value too few, so
// that SQLite writes to wherever the memory after it points. Therefore SQLite itself does it, in a function that it calls for each
// connection it opens.
var defend = sync.OnceValue(func() error {
	tls := libc.NewTLS()
	defer tls.Close()
	opened := beDefensive
	// This is how a function of Go becomes one of C, see https://pkg.go.dev/modernc.org/libc.
	code := lib.Xsqlite3_auto_extension(tls, *(*uintptr)(unsafe.Pointer(&opened)))
	if code != lib.SQLITE_OK {
		return fmt.Errorf("making connections defensive: SQLite returns code %d", code)
	}
	return nil
})

// beDefensive is called by SQLite with a new connection. Opening it fails with the code that is returned.
func beDefensive(tls *libc.TLS, db, _, _ uintptr) int32 {
	values := libc.NewVaList(int32(1), uintptr(0)) // on; the state need not be reported
	if values == 0 {
		return lib.SQLITE_NOMEM
	}
	defer libc.Xfree(tls, values)
	return lib.Xsqlite3_db_config(tls, db, lib.SQLITE_DBCONFIG_DEFENSIVE, values)
}
