package connectors

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// Each case is seen by process b. The letters are the holders of the shards in order, with a dash for none; a capital B gives its
// shard back just now.
func TestShardPlan(t *testing.T) {
	for name, test := range map[string]struct {
		holders, waiter string
		want            shardPlan
	}{
		"the first look takes one":                      {"----", "", shardPlan{free: []int{0, 1, 2, 3}, take: 1, give: -1}},
		"alone, it takes all":                           {"b---", "", shardPlan{free: []int{1, 2, 3}, take: 3, give: -1}},
		"with others, it takes its part":                {"bac---", "", shardPlan{free: []int{3, 4, 5}, take: 1, give: -1}},
		"its part is rounded up":                        {"ba---", "", shardPlan{free: []int{2, 3, 4}, take: 2, give: -1}},
		"free ones are for the one that waits":          {"bba-", "a", shardPlan{free: []int{3}, give: -1}},
		"also if that one has none":                     {"bb--", "a", shardPlan{free: []int{2, 3}, give: -1}},
		"but not if it has as many":                     {"bacc-", "a", shardPlan{free: []int{4}, take: 1, give: -1}},
		"an even division stays":                        {"abab", "", shardPlan{give: -1}},
		"a difference of one stays":                     {"aab", "", shardPlan{give: -1}},
		"a difference of two makes it wait":             {"aaab", "", shardPlan{wait: true, give: -1}},
		"the one with the most gives":                   {"bbbba", "a", shardPlan{give: 3}},
		"a difference of one is no reason to give":      {"bba", "a", shardPlan{give: -1}},
		"another one has more":                          {"bbccca", "a", shardPlan{give: -1}},
		"another one has as many and is first":          {"bbaa", "c", shardPlan{give: -1}},
		"another one has as many and is not":            {"bbcc", "a", shardPlan{give: 1}},
		"one at a time":                                 {"bbBba", "a", shardPlan{give: -1}},
		"nothing is given while one is free":            {"bbbb-a", "a", shardPlan{free: []int{4}, give: -1}},
		"what another process asks for is not its own":  {"bbbb", "b", shardPlan{give: -1}},
		"its own lease without its work is free for it": {"ba*", "", shardPlan{free: []int{2}, take: 1, give: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &sharding{Shards: &Shards{name: "chat", owner: "b"}, n: len(test.holders), held: map[int]*shard{}}
			leases := map[string]string{}
			if test.waiter != "" {
				leases["chat/waits"] = test.waiter
			}
			for i, c := range test.holders {
				lease := "chat/" + strconv.Itoa(i)
				if i == 0 {
					lease = "chat"
				}
				switch c {
				case '-':
				case '*':
					leases[lease] = "b"
				case 'b', 'B':
					r.held[i] = &shard{giving: c == 'B'}
					fallthrough
				default:
					leases[lease] = strings.ToLower(string(c))
				}
			}
			if got := r.plan(leases); !reflect.DeepEqual(got, test.want) {
				t.Errorf("it plans %+v, want %+v", got, test.want)
			}
		})
	}
}
