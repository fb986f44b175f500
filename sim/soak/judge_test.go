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
	"parley/internal/lang"
	"parley/internal/require"
)

const (
	whole  = "About q0001: q0001.00 q0001.01 end."
	part   = "About q0001: q0001.00" // a preview, and the first half
	second = "q0001.01 end."
	mark   = "\n\n(sent again; it may have arrived already)"
	notice = "Something else."
)

// evidence is what a soak leaves behind in one room.
type evidence struct {
	w    *environment
	room *room
}

// newEvidence returns an environment with one question, whose answer is [whole], and two replicas.
func newEvidence(t *testing.T, platform string) *evidence {
	t.Helper()
	w := &environment{o: options{latency: 150 * time.Millisecond}, telegram: telegramfake.New(), discord: discordfake.New(), calls: map[string]int{},
		telegramAt: []string{"one.example", "two.example"}}
	t.Cleanup(w.discord.Close)
	w.rooms = []*room{{platform: platform, name: "room"}}
	w.questions = []*question{{id: "q0001", room: w.rooms[0], answer: whole, asked: time.Now(), read: whole}}
	return &evidence{w, w.rooms[0]}
}

// stand makes the agent's messages; on Telegram, the first replica also sends them, now, and Telegram refuses those that are refused.
func (e *evidence) stand(refused bool, texts ...string) {
	var all []message
	for i, text := range texts {
		all = append(all, message{strconv.Itoa(i), text, time.Now(), time.Now()})
	}
	e.room.own = func() []message { return all }
	if e.room.platform != telegram {
		return
	}
	c := e.w.telegram.AddPrivate(e.w.telegram.AddUser("Tess", ""))
	if refused {
		e.w.telegram.Fault(telegramfake.Fault{Method: "sendMessage", RetryAfter: 1})
		texts = append([]string{texts[0]}, texts...)
	}
	for _, text := range texts {
		form := url.Values{"chat_id": {strconv.FormatInt(c.ID, 10)}, "text": {text}}
		post := httptest.NewRequest("POST", "http://one.example/bot"+e.w.telegram.Token()+"/sendMessage", strings.NewReader(form.Encode()))
		post.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		e.w.telegram.ServeHTTP(httptest.NewRecorder(), post)
	}
}

// verdict is the expected judgement of the messages that stand in a room.
type verdict struct {
	platform string
	kills    []kill // while the creates were under way
	texts    []string
	want     numbers
}

func (c verdict) check(t *testing.T) {
	e := newEvidence(t, c.platform)
	e.stand(false, c.texts...)
	c.want.questions = 1
	if got := *e.w.judge(c.kills).by[c.platform]; got != c.want {
		t.Errorf("%+v; want %+v", got, c.want)
	}
}

// kills returns what can be under way together with a create: a kill of its sender, a kill of the other replica, and a stop of its sender.
func kills() (killed, other, stopped []kill) {
	now := time.Now()
	end := func(replica int, orderly bool) []kill { return []kill{{now, now.Add(time.Minute), replica, orderly}} }
	return end(0, false), end(1, false), end(0, true)
}

func TestJudge(t *testing.T) {
	const again = whole + mark
	killed, other, stopped := kills()
	for name, c := range map[string]verdict{
		"all is well":             {telegram, nil, []string{whole}, numbers{}},
		"lost":                    {telegram, killed, nil, numbers{lost: 1}},
		"half":                    {discord, killed, []string{part}, numbers{half: 1}},
		"double":                  {telegram, killed, []string{whole, whole}, numbers{doubles: 1}},
		"marked":                  {telegram, killed, []string{whole, again}, numbers{marked: 1}},
		"marked without a kill":   {telegram, nil, []string{whole, again}, numbers{marked: 1, unfounded: 1}},
		"marked, another killed":  {telegram, other, []string{whole, again}, numbers{marked: 1, unfounded: 1}},
		"marked, orderly stop":    {telegram, stopped, []string{whole, again}, numbers{marked: 1, unfounded: 1}},
		"marked without a first":  {telegram, killed, []string{again}, numbers{marked: 1, unfounded: 1}},
		"marked on Discord":       {discord, killed, []string{whole, again}, numbers{doubles: 1}},
		"a preview":               {telegram, killed, []string{part, whole}, numbers{previews: 1}},
		"a preview, none killed":  {telegram, nil, []string{part, whole}, numbers{previews: 1, unfounded: 1}},
		"a preview, other killed": {telegram, other, []string{part, whole}, numbers{previews: 1, unfounded: 1}},
		"a preview, orderly stop": {telegram, stopped, []string{part, whole}, numbers{previews: 1, unfounded: 1}},
		"a preview on Discord":    {discord, killed, []string{part, whole}, numbers{doubles: 1}},
		"set aside":               {discord, killed, []string{llm.SetAside.Sentence(lang.Voice{})}, numbers{lost: 1, setAside: 1}},
		"a groundless excuse":     {telegram, killed, []string{lang.Voice{}.Say("message.excuse")}, numbers{lost: 1}},
		"another text":            {telegram, nil, []string{whole, notice}, numbers{other: 1}},
		"another room's answer":   {discord, nil, []string{whole, "About q0002: end."}, numbers{other: 1}},
		"words swapped":           {discord, nil, []string{"About q0001: q0001.01 q0001.00 end."}, numbers{half: 1}},
		"more text in an answer":  {discord, nil, []string{whole + " " + notice}, numbers{half: 1}},
	} {
		t.Run(name, c.check)
	}
}

// An answer in several messages is judged as a whole.
func TestJudgeParts(t *testing.T) {
	killed, _, _ := kills()
	for name, c := range map[string]verdict{
		"in order":              {discord, nil, []string{part, second}, numbers{split: 1}},
		"the first is missing":  {discord, nil, []string{second}, numbers{half: 1}},
		"the second is missing": {telegram, killed, []string{part}, numbers{half: 1}},
		"a gap":                 {discord, nil, []string{"About q0001:", second}, numbers{half: 1}},
		"the wrong order":       {discord, nil, []string{second, part}, numbers{disorder: 1, split: 1}},
		"a part twice":          {telegram, killed, []string{part, second, second}, numbers{doubles: 1, split: 1}},
		"an overlap":            {telegram, killed, []string{part, "q0001.00 q0001.01", second}, numbers{doubles: 1, split: 1}},
		"a part marked":         {telegram, killed, []string{part, part + mark, second}, numbers{marked: 1, split: 1}},
		"marked, none killed":   {telegram, nil, []string{part, second, second + mark}, numbers{marked: 1, split: 1, unfounded: 1}},
		"a preview":             {telegram, killed, []string{part, "q0001.01", second}, numbers{previews: 1, split: 1}},
	} {
		t.Run(name, c.check)
	}
}

// A kill explains a mark on the only message if Telegram had refused the create that was under way: the gateway can't know.
func TestMarkAfterRefusal(t *testing.T) {
	e := newEvidence(t, telegram)
	now := time.Now()
	e.stand(true, whole+mark)
	want := numbers{questions: 1, marked: 1}
	if got := *e.w.judge([]kill{{at: now, ended: now.Add(time.Minute)}}).by[telegram]; got != want {
		t.Errorf("%+v; want %+v", got, want)
	}
}

// A kill explains the leftovers of the part whose create was under way, and of no other part.
func TestKillExplainsOnePart(t *testing.T) {
	s := standing{}
	words := strings.Fields(whole)
	for i, text := range []string{part, part + mark, second} {
		s.pieces = append(s.pieces, pieceOf(words, message{text: text}, i))
	}
	s.assemble(len(words))
	for from, want := range map[int]int{0: 0, 3: 1} {
		n := numbers{}
		if (&trial{n: &n}).judgeLeftovers(&s, []create{{from: from, applied: true}}); n.unfounded != want {
			t.Errorf("a create from word %d: %+v", from, n)
		}
	}
}

// say is a message of the agent in a room, some seconds after the start.
type say struct {
	at   int
	text string
}

// ask returns a view of n questions, asked at these seconds, and of messages.
func ask(asked []int, messages ...say) *view {
	start := time.Now()
	v := &view{room: &room{platform: discord}, answers: map[string]*standing{}}
	for i, at := range asked {
		id := "q" + strconv.Itoa(10001 + i)[1:]
		v.questions = append(v.questions, &question{id: id, room: v.room, answer: id, asked: start.Add(time.Duration(at) * time.Second)})
		v.answers[id] = &standing{}
	}
	for _, m := range messages {
		at := start.Add(time.Duration(m.at) * time.Second)
		v.add(message{"", m.text, at, at})
	}
	return v.assemble()
}

func TestOrder(t *testing.T) {
	for name, c := range map[string]struct {
		messages []say
		want     string
	}{
		"in order":     {[]say{{1, "q0001"}, {2, "q0002"}, {3, "q0003"}}, ""},
		"one is lost":  {[]say{{1, "q0001"}, {3, "q0003"}}, ""},
		"swapped":      {[]say{{1, "q0001"}, {2, "q0003"}, {3, "q0002"}}, "q0003"},
		"last first":   {[]say{{1, "q0003"}, {2, "q0001"}, {3, "q0002"}}, "q0003"},
		"other texts":  {[]say{{1, "q0001"}, {2, notice}, {3, "q0002"}}, ""},
		"sent in turn": {[]say{{1, "q0001"}, {2, "q0002"}, {3, "q0001"}}, ""}, // the double is judged elsewhere
	} {
		var got []string
		for _, q := range ask([]int{0, 1, 2}, c.messages...).misplaced() {
			got = append(got, q.id)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q stand in the wrong place; want %q", name, got, c.want)
		}
	}
}

// Ten questions wait for their answers; the next one gets none.
func TestWaitingQuestionsExcuseNoAnswer(t *testing.T) {
	asked := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 60}
	answered := func(from, n int) (all []say) {
		for i := range n {
			all = append(all, say{from + i, "q" + strconv.Itoa(10001 + i)[1:]})
		}
		return all
	}
	excuse, later := say{40, lang.Voice{}.Say("message.excuse")}, say{61, "q0012"}
	for name, c := range map[string]struct {
		messages []say
		want     bool
	}{
		"as it shall be":              {append(answered(30, 10), excuse, later), true},
		"no excuse":                   {append(answered(30, 10), later), false},
		"an excuse before":            {append([]say{{5, lang.Voice{}.Say("message.excuse")}}, append(answered(30, 10), later)...), false},
		"an excuse for a later one":   {append(answered(30, 10), later, say{70, lang.Voice{}.Say("message.excuse")}), false},
		"too few waited":              {append(answered(30, 9), excuse, later), false},
		"they were answered long ago": {append(answered(-30, 10), excuse, later), false},
	} {
		v := ask(asked, c.messages...)
		if got := v.excused(v.questions[10]); got != c.want {
			t.Errorf("%s: excused is %t; want %t", name, got, c.want)
		}
	}
}

// The questions, the users and the configuration of a soak are made without a gateway.
func TestWorld(t *testing.T) {
	w := require.Value(newWorld(options{dir: t.TempDir(), answer: time.Second, long: 1}))(t)
	defer w.close()
	asked := map[string]bool{}
	for _, r := range w.rooms {
		asked[r.platform] = true
		q := w.question(r)
		if !strings.HasPrefix(q.answer, "About "+q.id+": ") || r.platform != web && r.own() != nil || r.most > 0 && len(q.answer) <= r.most {
			t.Errorf("%d bytes: %+v", len(q.answer), q)
		}
	}
	if len(asked) != 3 || w.answered() {
		t.Errorf("platforms %v; all is answered before anything is", asked)
	}
}

// A page that is full does not show the oldest questions. They are not lost.
func TestFullPage(t *testing.T) {
	now := time.Now()
	v := ask([]int{-120, 0})
	v.room.platform = web
	v.leaveOut(now.Add(-time.Minute))
	for i, lost := range []int{0, 2} { // the second one: no answer, and no question
		q, n := v.questions[i], numbers{}
		q.read = q.answer
		if (&trial{n: &n}).judge(v, q, nil); n.lost != lost {
			t.Errorf("question %d: %+v", i+1, n)
		}
	}
}
