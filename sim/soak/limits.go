package main

import (
	"context"
	"math/rand/v2"
	"time"

	"parley/connectors/discord/discordfake"
	"parley/connectors/telegram/telegramfake"
)

// flood is Telegram's usual budget, with a short limit of holds. A killed gateway forgets that it has to wait, and Telegram doubles the
// hold for each request that comes too early; a soak would only wait.
func flood() telegramfake.Flood {
	f := telegramfake.DefaultFlood()
	f.MaxHold = 5 * time.Second
	return f
}

// plannedFault is a fault of Discord and its requests.
type plannedFault struct {
	discordfake.Match
	discordfake.Fault
}

// plan replaces all faults by the given ones and the latency of each request.
func (w *environment) plan(onTelegram []telegramfake.Fault, onDiscord ...plannedFault) {
	half := w.o.latency / 2
	w.telegram.ClearFaults()
	for _, f := range append(onTelegram, telegramfake.Fault{Times: -1, DelayAnswer: half}) {
		w.telegram.Fault(f)
	}
	w.discord.ClearFaults()
	latency := plannedFault{discordfake.Match{Times: -1}, discordfake.Fault{Name: "latency", Delay: half, DelayAnswer: half}}
	for _, f := range append(onDiscord, latency) {
		w.discord.Fault(f.Match, f.Fault)
	}
}

// limitRates refuses requests with 429 now and then, in one room or in all of them, until ctx is done.
func (w *environment) limitRates(ctx context.Context) {
	for w.o.limits > 0 && sleep(ctx, w.o.limits) {
		hold := 1 + rand.IntN(3) // seconds
		if rand.IntN(3) == 0 {
			w.limitAll(ctx, hold)
			continue
		}
		route := pick(discordfake.CreateMessage, discordfake.EditMessage)
		w.plan([]telegramfake.Fault{{Method: pick("sendMessage", "editMessageText"), RetryAfter: hold}}, plannedFault{
			discordfake.Match{Route: route}, discordfake.TooManyRequests(discordfake.ScopeUser, time.Duration(hold)*time.Second),
		})
	}
	w.plan(nil)
}

// limitAll refuses the next requests in all rooms. On Telegram the budget of the bot shrinks to one request.
func (w *environment) limitAll(ctx context.Context, hold int) {
	lasts := time.Duration(hold) * time.Second
	w.plan(nil, plannedFault{Fault: discordfake.TooManyRequests(discordfake.ScopeGlobal, lasts)})
	f := flood()
	f.Bot = []telegramfake.Limit{{N: 1, Per: lasts}}
	w.telegram.SetFlood(f)
	sleep(ctx, lasts)
	w.telegram.SetFlood(flood())
}

func pick[T any](all ...T) T { return all[rand.IntN(len(all))] }
