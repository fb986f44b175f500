package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// ok reports whether every number is as required.
func (r *report) ok() bool {
	for _, n := range r.by {
		if n.lost+n.half+n.doubles+n.disorder+n.setAside+n.other+n.unfounded > 0 || n.questions == 0 {
			return false
		}
	}
	return len(r.kills) > 0
}

// print writes the table and the evidence.
func (r *report) print(out io.Writer) {
	orderly := 0
	for _, k := range r.kills {
		orderly += b2i(k.orderly)
	}
	fmt.Fprintf(out, "%d processes killed, %d stopped by SIGTERM\n", len(r.kills)-orderly, orderly)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "platform\tquestions\tmodel calls\tlost\thalf-written\tdoubles\tout of order\tset aside\tother texts\tunfounded\tmarked repeats\tpreviews left\tmerged\tsplit\t")
	for _, p := range []string{telegram, discord, web} {
		n := r.by[p]
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", p, n.questions, n.calls, n.lost, n.half, n.doubles, n.disorder,
			n.setAside, n.other, n.unfounded, n.marked, n.previews, n.merged, n.split)
	}
	_ = t.Flush() // like all writes to out, because there is no other place to report a failure
	for _, line := range append(r.info, r.evidence...) {
		fmt.Fprintln(out, line)
	}
	if r.ok() {
		fmt.Fprintln(out, "Everything is as required.")
	} else {
		fmt.Fprintln(out, "FAIL: lost, half-written, doubles, out of order, set aside, other texts and unfounded must be 0.")
	}
}

func (r *report) save(path string) error {
	var text bytes.Buffer
	r.print(&text)
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("save the report: %w", err)
	}
	return nil
}

// tell describes a question and all requests for its answer, on one timeline with the kills.
func (w *environment) tell(q *question, s *standing, kills []kill, wrong []string) string {
	var b strings.Builder
	at := func(t time.Time) string { return fmt.Sprintf("%+.3f s", t.Sub(q.asked).Seconds()) }
	fmt.Fprintf(&b, "%s %s in %s (%d words, %d model calls), asked at %s: %s\n", q.room.platform, q.id, q.room.name,
		strings.Count(q.answer, " ")+1, w.calls[q.id], q.asked.Format("15:04:05.000"), strings.Join(wrong, "; "))
	for _, p := range s.pieces {
		fmt.Fprintf(&b, "    stands: message %s, words %d to %d: %s\n", p.id, p.from, p.to, short(p.text))
	}
	for _, k := range kills {
		if d := k.at.Sub(q.asked); d > -time.Second && d < 15*time.Second {
			fmt.Fprintf(&b, "    kill of %d (orderly %t) %s, ended %s\n", k.replica, k.orderly, at(k.at), at(k.ended))
		}
	}
	if q.room.platform == telegram {
		for _, r := range w.telegram.Log() {
			if text := r.Params["text"]; questionID.FindString(text) == q.id {
				fmt.Fprintf(&b, "    %d: %s message %d at %s, ended %s, status %d, applied %t: %s\n", slices.Index(w.telegramAt, r.Host), r.Method, r.Message, at(r.At), at(r.Ended), r.Status, r.Applied, short(text))
			}
		}
	}
	if q.room.platform == discord {
		for _, r := range w.discord.Log() {
			if questionID.FindString(string(r.Body)) == q.id {
				fmt.Fprintf(&b, "    %s at %s, done %s, status %d, applied %t, repeated %t: %s\n", r.Route, at(r.At), at(r.Done), r.Status, r.Applied, r.Repeated, short(string(r.Body)))
			}
		}
	}
	return b.String()
}

func short(text string) string {
	if len(text) > 120 {
		return fmt.Sprintf("%d bytes, …%q", len(text), text[len(text)-60:])
	}
	return fmt.Sprintf("%q", text)
}

// inform adds notable facts that are not failures.
func (w *environment) inform(r *report) {
	held, early := 0, 0
	for _, q := range w.telegram.Log() {
		held += b2i(q.RetryAfter > 0)
		early += b2i(q.Early)
	}
	if took := w.takeovers(r.kills); len(took) > 0 {
		r.info = append(r.info, fmt.Sprintf("Web answers that a kill interrupted were complete after p50 %.1f s, p99 %.1f s (%d of them).",
			took[len(took)/2].Seconds(), took[len(took)*99/100].Seconds(), len(took)))
	}
	if b := w.backends; b != nil {
		r.info = append(r.info, fmt.Sprintf("%d gateways; Redis was killed %d times, PostgreSQL %d times.", len(w.webAt), b.redisKills.Load(), b.postgresKills.Load()))
	}
	dHeld, dEarly := 0, 0
	for _, q := range w.discord.Log() {
		dHeld += b2i(q.RetryAfter > 0)
		dEarly += b2i(q.DuringHold)
	}
	r.info = append(r.info,
		fmt.Sprintf("Telegram told the gateway to wait %d times, %d requests came too early, %d were malformed.", held, early, len(w.telegram.Rejected())),
		fmt.Sprintf("Discord told the gateway to wait %d times, %d requests came too early, %d were malformed.", dHeld, dEarly, len(w.discord.Rejected())))
}

// takeovers returns how long after a kill the answers on the web were complete that needed another call of the model, sorted.
func (w *environment) takeovers(kills []kill) (took []time.Duration) {
	for _, q := range w.questions {
		if q.room.platform != web || w.calls[q.id] < 2 || q.ended.IsZero() {
			continue
		}
		var last time.Time
		for _, k := range kills {
			if k.at.After(q.asked) && k.at.Before(q.ended) {
				last = k.at
			}
		}
		if !last.IsZero() {
			took = append(took, q.ended.Sub(last))
		}
	}
	slices.Sort(took)
	return took
}
