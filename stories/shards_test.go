package stories_test

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"parley/config"
	"parley/config/configtest"
	"parley/connectors/discord"
	"parley/connectors/discord/discordfake"
	"parley/internal/require"
	"parley/models/modelfake"
)

// shards are the numbers of shards that the replicas hold, in order.
func (r *replicas) shards() (counts []int) {
	fleet := require.Value(r.nodes[len(r.nodes)-1].store.Replicas(r.Context()))(r)
	held := map[string]int{}
	for _, l := range fleet.Leases {
		if l.Name == "discord" || strings.HasPrefix(l.Name, "discord/") && len(l.Name) == len("discord/1") {
			held[l.Owner]++
		}
	}
	for _, n := range held {
		counts = append(counts, n)
	}
	slices.Sort(counts)
	return counts
}

// DI-08, DR-20: three replicas share the four shards of a bot. One of them dies while questions are under way on all shards. The
// others take over its shards, and each question is answered once.
func TestReplicaWithShardsDies(t *testing.T) {
	fake := discordfake.New(discordfake.WithShards(4), discordfake.WithIdentifyLimit(1000, 4))
	api := httptest.NewServer(fake.Handler())
	t.Cleanup(api.Close)
	t.Cleanup(fake.Close)
	ann := fake.AddUser("Ann")
	var channels []string
	for i := range 4 {
		channels = append(channels, fake.AddChannel(fake.AddGuildOn(fmt.Sprint("guild ", i), i, 4), "general"))
	}
	r := startReplicas(t, 3, "queue", modelfake.New(modelfake.Options{Choose: func(q modelfake.Request) modelfake.Script {
		for _, word := range strings.Fields(q.LastUser()) {
			if strings.HasPrefix(word, "question-") {
				return modelfake.Script{modelfake.Text("You asked " + word + ", and this is my answer to it.")}
			}
		}
		return modelfake.Script{modelfake.Text("You asked nothing.")}
	}}), func(cfg *config.Config) {
		section := configtest.Section[discord.Config](cfg.Connectors)
		section.Token, section.APIURL = config.Secret(fake.Token()), api.URL
		cfg.People.Allowed = append(cfg.People.Allowed, config.Member("discord:"+ann))
	})
	r.waitUntil("three replicas with one or two shards", func() bool { return slices.Equal(r.shards(), []int{1, 1, 2}) && len(fake.Shards()) == 4 })
	asked := 0
	ask := func() {
		for _, c := range channels {
			asked++
			fake.Say(c, ann, fmt.Sprintf("question-%d", asked), discordfake.MentionBot())
		}
	}
	answered := func() (times []int) {
		times = make([]int, asked)
		for _, c := range channels {
			for _, m := range fake.Messages(c) {
				for i := range times {
					if m.ByBot && strings.Contains(m.Content, fmt.Sprintf("question-%d,", i+1)) {
						times[i]++
					}
				}
			}
		}
		return times
	}
	ask()
	r.waitUntil("an answer on each shard", func() bool { return !slices.Contains(answered(), 0) })
	ask()
	r.nodes[0].kill()
	ask()
	r.nodes = r.nodes[1:]
	r.waitUntil("two replicas with two shards each", func() bool { return slices.Equal(r.shards(), []int{2, 2}) && len(fake.Shards()) == 4 })
	ask()
	r.waitUntil("an answer to each question", func() bool { return !slices.Contains(answered(), 0) })
	if times := answered(); slices.Max(times) > 1 {
		t.Errorf("the questions are answered %v times", times)
	}
	for _, rejected := range fake.Rejected() {
		t.Errorf("rejected: %+v", rejected)
	}
}
