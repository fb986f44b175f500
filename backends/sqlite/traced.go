package sqlite

import (
	"context"
	"database/sql/driver"
)

// traced is a connection that reports each statement to [Options.Trace]. Begin and commit by database/sql, as goose
// uses them, are no statements, so they are reported separately.
type traced struct {
	*prepared
	trace func(statement string)
}

// ExecContext implements [driver.ExecerContext].
func (t traced) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	t.trace(query)
	return t.prepared.ExecContext(ctx, query, args)
}

// QueryContext implements [driver.QueryerContext].
func (t traced) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	t.trace(query)
	return t.prepared.QueryContext(ctx, query, args)
}

// BeginTx implements [driver.ConnBeginTx].
func (t traced) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	t.trace("BEGIN")
	tx, err := t.prepared.BeginTx(ctx, o)
	return tracedTx{tx, t.trace}, err
}

// tracedTx is a transaction of a traced connection.
type tracedTx struct {
	driver.Tx
	trace func(statement string)
}

// Commit implements [driver.Tx].
func (t tracedTx) Commit() error {
	t.trace("COMMIT")
	return t.Tx.Commit()
}
