package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"parley/internal/require"
)

const formed = 20 * time.Second // the longest time that servers may take to find each other

// Cluster is three masters, each with a third of the slots, in their order.
type Cluster struct {
	Nodes []*Server
	URL   string
}

// StartCluster starts one.
func StartCluster(t testing.TB) Cluster {
	t.Helper()
	var nodes []*Server
	for range 3 {
		bus := port(t, freeAddr(t))
		nodes = append(nodes, Start(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-port", bus))
	}
	const slots = 16384
	for i, n := range nodes {
		n.command(fmt.Sprintf("CLUSTER ADDSLOTSRANGE %d %d", i*slots/len(nodes), (i+1)*slots/len(nodes)-1))
		if i > 0 {
			args := nodes[0].args
			n.command("CLUSTER MEET 127.0.0.1 " + port(t, nodes[0].Addr) + " " + args[len(args)-1])
		}
	}
	for _, n := range nodes {
		n.wait("CLUSTER INFO", "cluster_state:ok", "cluster_known_nodes:3")
	}
	return Cluster{Nodes: nodes, URL: "redis+cluster://" + nodes[0].Addr + "?addr=" + nodes[1].Addr}
}

// Sentinels are a master with a replica, watched by one sentinel.
type Sentinels struct {
	Master, Replica *Server
	URL             string
}

// StartSentinels starts them. The sentinel replaces a master that does not respond for a second.
func StartSentinels(t testing.TB) Sentinels {
	t.Helper()
	master := Start(t)
	replica := Start(t, "--replicaof", "127.0.0.1 "+port(t, master.Addr), "--repl-diskless-sync-delay", "0")
	replica.wait("INFO replication", "master_link_status:up")
	config := filepath.Join(t.TempDir(), "sentinel.conf")
	text := "sentinel monitor main 127.0.0.1 " + port(t, master.Addr) + " 1\n" +
		"sentinel down-after-milliseconds main 1000\nsentinel failover-timeout main 3000\n"
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	sentinel := &Server{t: t, dir: t.TempDir(), Addr: freeAddr(t), config: config, ready: "+monitor master main"}
	sentinel.Restart()
	t.Cleanup(sentinel.Stop)
	sentinel.wait("INFO sentinel", "status=ok", "slaves=1")
	return Sentinels{Master: master, Replica: replica, URL: "redis+sentinel://" + sentinel.Addr + "?master_name=main"}
}

func port(t testing.TB, addr string) string {
	t.Helper()
	_, p, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	return p
}

// wait repeats a command until its reply contains all of want.
func (s *Server) wait(command string, want ...string) {
	s.t.Helper()
	for deadline := time.Now().Add(formed); ; time.Sleep(50 * time.Millisecond) {
		reply, missing := s.command(command), ""
		for _, w := range want {
			if !strings.Contains(reply, w) {
				missing = w
			}
		}
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%s: no %q in %q", command, missing, reply)
		}
	}
}

// command sends one command and returns its reply as text.
func (s *Server) command(line string) string {
	s.t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: s.Addr})
	defer c.Close()
	var args []any
	for word := range strings.FieldsSeq(line) {
		args = append(args, word)
	}
	reply, err := c.Do(context.Background(), args...).Text()
	if err != nil {
		s.t.Fatalf("%s: %v", line, err)
	}
	return reply
}
