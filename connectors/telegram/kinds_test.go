package telegram

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/connectors"
	"parley/connectors/telegram/telegramfake"
	"parley/core/chat"
	"parley/internal/require"
)

// What is neither text nor a file reaches the model in words (IN-14 holds for it too). Notices of a chat are remarks, which are not answered.
func TestKindsInWords(t *testing.T) {
	told := "" // the words of service messages
	for _, n := range notices {
		told += n.words + "\n"
	}
	for fields, want := range map[string]string{
		`"location":{"latitude":52.52,"longitude":13.405}`:                                                                           "*Location: latitude 52.52, longitude 13.405*",
		`"venue":{"location":{"latitude":1,"longitude":2},"title":"Zoo","address":"Road 1"},"location":{"latitude":1,"longitude":2}`: "*Place: Zoo, Road 1 (latitude 1, longitude 2)*",
		`"contact":{"phone_number":"+49","first_name":"Eve"}`:                                                                        "*Contact: Eve, +49*",
		`"dice":{"emoji":"🎲","value":4}`:                                                                                             "*🎲 rolled: 4*",
		`"poll":{"id":"1","question":"Tea?","options":[{"text":"Yes"},{"text":"No"}]}`:                                               "*Poll:* Tea?\n  Options: Yes; No",
		`"game":{"title":"Chess"}`:                                                                                                   "*Game: Chess*",
		`"invoice":{"title":"Book"}`:                                                                                                 "*Invoice: Book*",
		`"checklist":{"title":"Trip","tasks":[{"id":1,"text":"Pack"}]}`:                                                              "*Checklist: Trip; Pack*",
		`"story":{"chat":{"id":5},"id":1}`:                                                                                           "*Story (bots can't see its content)*",
		`"giveaway":{"winner_count":1}`:                                                                                              "*Giveaway*",
		`"paid_media":{"star_count":1},"caption":"Look"`:                                                                             "Look",
		`"paid_media":{"star_count":1}`:                                                                                              "*Paid media (bots can't see it)*",
		`"giveaway_winners":{"winner_count":1}`:                                                                                      "*Giveaway*",
		`"gift":{"gift":{"id":"1"},"text":"For you"}`:                                                                                "*Gift* For you",
		`"unique_gift":{"gift":{"name":"x"}}`:                                                                                        "*Gift*",
		`"rich_message":{"blocks":[]}`:                                                                                               connectors.Unreadable,
		`"invented_later":{"x":1}`:                                                                                                   connectors.Unreadable,
		`"new_chat_title":"Seven"`:                                                                                                   "*Renamed the chat:* Seven",
		`"pinned_message":{"message_id":3,"date":1,"chat":{"id":5},"text":"Hi"}`:                                                     "*Pinned a message*",
		`"new_chat_members":[{"id":7,"first_name":"Eve"},{"id":8,"first_name":"Bob"}]`:                                               "",
		`"left_chat_member":{"id":7,"first_name":"Eve"}`:                                                                             "",
		`"video_chat_started":{}`:                                                                                                    "*Started a video chat*",
		`"chat_owner_changed":[{"first_name":"Eve"},{"first_name":"Bob"}]`:                                                           "*The chat has a new owner:* Eve, Bob",
		`"forum_topic_edited":{"name":"Paint"}`:                                                                                      "*Renamed the topic:* Paint",
		`"checklist_tasks_done":{"marked_as_done_task_ids":[1]}`:                                                                     "*Marked tasks of a checklist*",
		`"poll_option_added":{"option_text":5}`:                                                                                      "*Added an option to a poll*",
		`"delete_chat_photo":true`:                                                                                                   "*Removed the chat's picture*",
		`"community_chat_added":{"community":{"id":1}}`:                                                                              "",
		`"write_access_allowed":{}`:                                                                                                  "",
		`"migrate_to_chat_id":-100`:                                                                                                  "",
	} {
		in, ok := read(t, inPrivate, fields).(chat.Message)
		if ok != (want != "") || in.Text != want || want != "" && in.Remark != strings.Contains(told, strings.Split(strings.Trim(want, "*"), ":")[0]) {
			t.Errorf("%s is %q, want %q", fields, in.Text, want)
		}
	}
}

// A rich message has no text: users forward it, reply to it and pin it, and the model reads its words.
func TestRichMessagesAreRead(t *testing.T) {
	const rich = `"rich_message":{"is_rtl":true,"blocks":[{"type":"heading","size":1,"text":"Tea"},{"type":"paragraph","text":["Boil ",{"type":"bold","text":["it ",{"type":"custom_emoji","custom_emoji_id":"5","alternative_text":"🔥"}]}]},` +
		`{"type":"list","items":[{"label":"1.","blocks":[{"type":"paragraph","text":"Wait"},{"type":"list","items":[{"label":"•","blocks":[{"type":"paragraph","text":"long"}]}]}]}]},` +
		`{"type":"table","cells":[[{"text":"a","is_header":true},{"text":"b"}],[{},{"text":{"type":"mathematical_expression","expression":"x^2"}}]],"caption":"Times"},` +
		`{"type":"details","summary":"More","blocks":[{"type":"divider"},{"type":"pre","text":"go()","language":"go"}]},{"type":"invented","x":[1,null]},7]}`
	const words = "Tea\nBoil it 🔥\n1. Wait\n• long\na | b\nx^2\nTimes\nMore\ngo()"
	if in, _ := read(t, inPrivate, rich).(chat.Message); in.Text != words {
		t.Errorf("it is %q, want %q", in.Text, words)
	}
	at := `{"message_id":3,"date":1,"chat":` + inPrivate + `,"from":{"id":6,"first_name":"Bob"},` + rich + `}`
	for _, fields := range []string{`"text":"why?","reply_to_message":` + at, `"pinned_message":` + at} {
		if in, _ := read(t, inPrivate, fields).(chat.Message); in.Quoted.Text != words {
			t.Errorf("%.30s: %q is quoted, want %q", fields, in.Quoted.Text, words)
		}
	}
	for _, odd := range []string{`"rich_message":5`, `"rich_message":{"blocks":{"text":{}}}`, `"rich_message":{}`} {
		if in, _ := read(t, inPrivate, odd).(chat.Message); in.Text != connectors.Unreadable {
			t.Errorf("%s is %q", odd, in.Text)
		}
	}
}

// Each field of a message that the API describes either makes it a notice, or says something, or stands beside what says something. A new
// kind is answered with the sentence for kinds that are not known.
func TestKindsOfTheAPI(t *testing.T) {
	spec := require.Value(telegramfake.SharedSpec())(t)
	if spec == nil {
		t.Skip("PARLEY_SPECS IS NOT SET")
	}
	for name, types := range spec.Fields("Message") {
		if name == "message_id" || name == "chat" || name == "from" || slices.ContainsFunc(notices, func(n struct{ field, words string }) bool { return n.field == name }) {
			continue
		}
		value := map[string]string{"Integer": "1", "String": `"x"`, "Boolean": "true"}[types[0]]
		if strings.HasPrefix(types[0], "Array") {
			value = "[{}]"
		}
		in, ok := read(t, inPrivate, fmt.Sprintf("%q: %s", name, cmp.Or(value, "{}"))).(chat.Message)
		if business := name == "business_connection_id" || name == "guest_query_id"; ok == business || ok && in.Empty() {
			t.Errorf("%s became %+v", name, in)
		}
	}
}

// One field that can't be read is left out, and the message arrives; one that says who wrote or where must be right.
func TestOddFields(t *testing.T) {
	for fields, want := range map[string]string{
		`"text":"hi","date":"soon"`:                                        "hi",
		`"text":"hi","entities":[{"type":"bold","offset":"x","length":1}]`: "hi",
		`"text":"hi","entities":7`:                                         "hi",
		`"text":"hi","photo":{"file_id":1}`:                                "hi",
		`"text":"hi","reply_to_message":5`:                                 "hi",
		`"text":"hi","reply_to_message":{"message_id":"x","chat":3}`:       "hi",
		`"text":"hi","quote":"x","forward_date":"y"`:                       "hi",
		`"caption":"hi","document":{"file_id":"a","file_size":"much"}`:     "hi",
		`"text":"hi","checklist":5,"story":{}`:                             "hi",
		`"text":"hi","from":{"id":"5","first_name":"Ada"}`:                 "error",
		`"text":"hi","from":{"id":5,"is_bot":"yes"}`:                       "error",
		`"text":"hi","chat":{"id":"5","type":"private"}`:                   "error",
		`"text":"hi","business_connection_id":5`:                           "error",
		`"text":"hi","sender_chat":"x"`:                                    "error",
	} {
		raw := `{"update_id":1,"message":{"message_id":7,"date":1700000000,"chat":` + inPrivate + `,"from":{"id":5,"first_name":"Ada"},` + fields + `}}`
		u, odd, err := parseUpdate(json.RawMessage(raw))
		if (err != nil) != (want == "error") {
			t.Errorf("%s: %v", fields, err)
		}
		if err != nil {
			continue
		}
		in, ok := self{account: us}.inbound(u.Message, u.newer.Message, newMoves(us, nil).first).(chat.Message)
		if !ok || in.Text != want || in.At.IsZero() || in.At.Year() < 2000 {
			t.Errorf("%s is %+v", fields, in)
		}
		if odd == nil {
			t.Errorf("%s: nothing was odd", fields)
		}
	}
}

// A location is answered; that it moves is no new question.
func TestLiveLocation(t *testing.T) {
	withBot(t, func(t *testing.T, r *botHarness) {
		ada := r.AddUser("Ada", "ada")
		chat := r.AddPrivate(ada)
		r.run(r.bot)
		m := r.Say(chat, ada, "", telegramfake.WithMedia(map[string]any{"location": map[string]any{"latitude": 1.5, "longitude": 2, "live_period": 60}}))
		wait(time.Second)
		r.UserEdit(m, "")
		wait(time.Second)
		r.want("*Location: latitude 1.5, longitude 2*")
		if strings.Contains(r.log.String(), "left out") {
			t.Error("the log says that a part was left out; want all parts read")
		}
	})
}
