package stories_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"parley"
	"parley/config"
	"parley/internal/require"
	"parley/models/modelfake"
	"parley/sim"
)

// expand is what a later version's migration can do while this version runs: every table gets columns that this version does not
// know, one of them with a value, and there is a new table with an index. Each statement is a transaction of its own, as each migration is.
func expand(t *testing.T, c *pgx.Conn) {
	t.Helper()
	rows, err := c.Query(t.Context(), `SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename <> 'goose_db_version' ORDER BY 1`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 20 {
		t.Fatalf("the tables are %v, %v; want at least 20", tables, err)
	}
	var all []string
	for _, table := range tables {
		all = append(all, fmt.Sprintf(`ALTER TABLE %s ADD COLUMN later text, ADD COLUMN later_default bigint NOT NULL DEFAULT 7`, pgx.Identifier{table}.Sanitize()))
	}
	all = append(all, `CREATE TABLE later_runs (run text PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE, at bigint NOT NULL)`,
		`CREATE INDEX later_runs_at ON later_runs (at)`)
	for _, statement := range all {
		if _, err := c.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// visitors ask one question after the other, each in a conversation of its own, at all gateways in turn. A request that fails is repeated
// with the same key.
type visitors struct {
	*replicas
	running [2]atomic.Pointer[sim.Browser]
	next    atomic.Int64
	work    sync.WaitGroup
	asked   [6][]string // keys, by visitor
	rooms   [6]string
}

// page returns the page of the next gateway.
func (v *visitors) page() *sim.Browser {
	return v.running[int(v.next.Add(1))%len(v.running)].Load()
}

// ask asks until ctx is done.
func (v *visitors) ask(ctx context.Context, visitor int) {
	for n := 0; ctx.Err() == nil; n++ {
		key := fmt.Sprintf("visitor-%d-asks-%d", visitor, n)
		v.asked[visitor] = append(v.asked[visitor], key)
		for begun := time.Now(); !v.answered(visitor, key); time.Sleep(50 * time.Millisecond) {
			if time.Since(begun) > time.Minute {
				v.Errorf("%s is not answered", key)
				return
			}
		}
	}
}

// answered reports whether an attempt to ask was answered to its end.
func (v *visitors) answered(visitor int, key string) bool {
	ctx, cancel := context.WithTimeout(v.Context(), 10*time.Second)
	defer cancel()
	s, err := v.page().Send(ctx, v.rooms[visitor], key, key)
	if err != nil || s.Status != http.StatusOK {
		return false
	}
	_, err = s.All()
	return err == nil && strings.HasSuffix(s.Text(), "That is all.")
}

// check compares what the pages show after a reload with what was asked: each question once, each with one answer.
func (v *visitors) check() {
	v.Helper()
	for visitor, asked := range v.asked {
		lines := require.Value(v.page().Reload(v.Context(), v.rooms[visitor]))(v)
		var questions, want, answers []string
		for _, l := range lines {
			if l.Role == "assistant" {
				answers = append(answers, l.Text)
			} else {
				questions = append(questions, l.Text)
			}
		}
		for _, key := range asked {
			want = append(want, reply(key))
		}
		if !slices.Equal(questions, asked) || !slices.Equal(answers, want) {
			v.Errorf("visitor %d asked %q; the page shows %q and the answers %q", visitor, asked, questions, answers)
		}
	}
}

func reply(question string) string { return "You said " + question + ". That is all." }

// DI-13: a newer version migrates the tables while gateways of this version work, and one after the other is restarted on the newer
// tables. All questions are answered once. When tables come that this version can't use, it refuses to start.
func TestOlderVersionOnNewerTables(t *testing.T) {
	r := startReplicas(t, 2, "queue", modelfake.New(modelfake.Options{Choose: func(q modelfake.Request) modelfake.Script {
		return modelfake.Script{modelfake.Pace(10 * time.Millisecond), modelfake.Text(reply(q.LastUser()), modelfake.ByWord)}
	}}), func(c *config.Config) {
		c.Web.Limits = config.Limits{}
		c.Agent.Summaries = false
	})
	c := require.Value(pgx.Connect(t.Context(), r.cfg.Store.Reveal()))(r)
	defer c.Close(context.Background()) //nolint:errcheck // the test is over
	var knows int64
	r.Must(c.QueryRow(t.Context(), `SELECT max(version_id) FROM goose_db_version`).Scan(&knows))
	version := func(has, oldest int64) {
		_, err := c.Exec(t.Context(), fmt.Sprintf(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, true); UPDATE identity SET oldest = %d`, has, oldest))
		r.Must(err)
	}
	v := &visitors{replicas: r}
	for i, n := range r.nodes {
		v.running[i].Store(n.Browser)
	}
	for i := range v.rooms {
		v.rooms[i] = require.Value(v.page().Open(t.Context()))(r)
	}
	ctx, stop := context.WithCancel(t.Context())
	for i := range v.rooms {
		v.work.Go(func() { v.ask(ctx, i) })
	}
	time.Sleep(time.Second / 2)
	expand(t, c)
	version(knows+1, knows)
	for i := range 2 {
		time.Sleep(time.Second / 2)
		r.nodes[i].end()
		v.running[i].Store(r.start().Browser)
	}
	time.Sleep(time.Second / 2)
	stop()
	v.work.Wait()
	v.check()
	total := 0
	for _, asked := range v.asked {
		total += len(asked)
	}
	t.Logf("%d questions were asked and answered", total)

	version(knows+2, knows+2)
	if g, err := parley.Start(t.Context(), r.cfg, parley.Env{}); err == nil || !strings.Contains(err.Error(), "a newer version of the gateway wrote its tables, and at least 0.1.0-rc.1 is needed") {
		t.Errorf("on tables that it can't use: %v, %v", g, err)
	}
}
