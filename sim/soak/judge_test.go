package main

import (
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/connectors/discord/discordfake"
	"parley/connectors/telegram/telegramfake"
	"parley/core/llm"
	"parley/core/schedule"
	"parley/progressive"
)

const (
	whole  = "About q0001: q0001.00 q0001.01 end."
	again  = whole + "\n\n" + progressive.Repetition
	part   = "About q0001: q0001.00"
	notice = "Something else."
)

// judged is the verdict over one question whose answer stands as texts say. On Telegram they are sent now.
func judged(t *testing.T, platform string, kills []time.Time, texts ...string) numbers {
	t.Helper()
	w := &world{o: options{latency: 150 * time.Millisecond}, telegram: telegramfake.New(), discord: discordfake.New(), calls: map[string]int{}}
	t.Cleanup(w.discord.Close)
	r := &room{platform: platform, own: func() (all []message) {
		for i, text := range texts {
			all = append(all, message{strconv.Itoa(i), text})
		}
		return all
	}}
	w.rooms = []*room{r}
	w.questions = []*question{{id: "q0001", room: r, answer: whole, asked: time.Now(), read: whole}}
	if platform == telegram {
		c := w.telegram.AddPrivate(w.telegram.AddUser("Tess", ""))
		for _, text := range texts {
			form := url.Values{"chat_id": {strconv.FormatInt(c.ID, 10)}, "text": {text}}
			post := httptest.NewRequest("POST", "/bot"+w.telegram.Token()+"/sendMessage", strings.NewReader(form.Encode()))
			post.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w.telegram.ServeHTTP(httptest.NewRecorder(), post)
		}
	}
	return *w.judge(kills).by[platform]
}

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		platform string
		killed   bool // while the creates were under way
		texts    []string
		want     numbers
	}{
		"all is well":               {telegram, false, []string{whole}, numbers{}},
		"lost":                      {telegram, true, nil, numbers{lost: 1}},
		"half":                      {discord, true, []string{part}, numbers{half: 1}},
		"double":                    {telegram, true, []string{whole, whole}, numbers{doubles: 1}},
		"marked":                    {telegram, true, []string{whole, again}, numbers{marked: 1}},
		"marked without a kill":     {telegram, false, []string{whole, again}, numbers{marked: 1, unfounded: 1}},
		"marked without a first":    {telegram, true, []string{again}, numbers{marked: 1, unfounded: 1}},
		"marked on Discord":         {discord, true, []string{whole, again}, numbers{doubles: 1}},
		"a preview left":            {telegram, true, []string{part, whole}, numbers{previews: 1}},
		"a preview without a kill":  {telegram, false, []string{part, whole}, numbers{previews: 1, unfounded: 1}},
		"a preview left on Discord": {discord, true, []string{part, whole}, numbers{doubles: 1}},
		"set aside":                 {discord, true, []string{llm.SetAside.Sentence()}, numbers{lost: 1, setAside: 1}},
		"asked to repeat":           {telegram, true, []string{schedule.Excuse}, numbers{merged: 1}},
		"an excuse for nothing":     {telegram, true, []string{whole, schedule.Excuse}, numbers{}},
		"another text":              {telegram, true, []string{whole, notice}, numbers{other: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var kills []time.Time
			if c.killed {
				kills = []time.Time{time.Now()}
			}
			c.want.questions = 1
			if got := judged(t, c.platform, kills, c.texts...); got != c.want {
				t.Errorf("%+v; want %+v", got, c.want)
			}
		})
	}
}

// The questions, the people and the configuration of a soak are made without a gateway.
func TestWorld(t *testing.T) {
	w, err := newWorld(options{dir: t.TempDir(), answer: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	asked := map[string]bool{}
	for _, r := range w.rooms {
		asked[r.platform] = true
		if q := w.question(r); !strings.HasPrefix(q.answer, "About "+q.id+": ") || r.platform != web && r.own() != nil {
			t.Errorf("%+v", q)
		}
	}
	if len(asked) != 3 || w.answered() {
		t.Errorf("platforms %v; all is answered before anything is", asked)
	}
}

// A page that is full does not show the oldest questions. They are not lost.
func TestFullPage(t *testing.T) {
	now := time.Now()
	r := &room{platform: web}
	w := &world{questions: []*question{
		{id: "q0001", room: r, asked: now.Add(-2 * time.Minute), answer: whole, read: whole},
		{id: "q0002", room: r, asked: now, answer: whole, read: whole},
	}}
	all := map[string]standing{}
	w.leaveOut(all, r, now.Add(-time.Minute))
	for i, lost := range []int{0, 2} { // the second one: no answer, and no question
		var n numbers
		if w.judgeOne(&n, w.questions[i], all[w.questions[i].id], nil); n.lost != lost {
			t.Errorf("question %d: %+v", i+1, n)
		}
	}
}
