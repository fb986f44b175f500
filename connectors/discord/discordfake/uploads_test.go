package discordfake_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"

	"parley/connectors/discord/discordfake"
	"parley/internal/require"
)

// upload sends a payload with files, which are named by their content.
func upload(t *testing.T, s *discordfake.Server, method, path, payload string, files ...string) answer {
	t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	require.NoError(t, w.WriteField("payload_json", payload))
	for i, data := range files {
		p := require.Value(w.CreateFormFile(fmt.Sprintf("files[%d]", i), data[:1]))(t)
		_, _ = p.Write([]byte(data)) // into memory
	}
	_ = w.Close()
	r := newRequest(t, s, method, path, form.String())
	r.Header.Set("Content-Type", w.FormDataContentType())
	return sendRequest(s, r)
}

// stands are the names of the files of a message.
func stands(a answer) (names, ids []string) {
	var m struct {
		Attachments []struct{ ID, Filename string }
	}
	_ = json.Unmarshal([]byte(a.text), &m) // a refusal has none
	for _, f := range m.Attachments {
		names, ids = append(names, f.Filename), append(ids, f.ID)
	}
	return names, ids
}

// An edit's list is all that stays ("Editing Message Attachments" in Discord's reference).
func TestAttachmentsOfEdits(t *testing.T) {
	spec := require.Value(discordfake.SharedSpec())(t)
	const two = `{"attachments":[{"id":"0","filename":"a"},{"id":"1","filename":"b"}]}`
	for name, c := range map[string]struct {
		edit  string
		files []string
		want  string // the names after it; "refused" if it is
	}{
		"only the text":       {`{"content":"x"}`, nil, "a b"},
		"null":                {`{"content":"x","attachments":null}`, nil, "a b"},
		"none":                {`{"content":"x","attachments":[]}`, nil, ""},
		"nothing at all":      {`{"attachments":[]}`, nil, "refused"},
		"one stays":           {`{"attachments":[{"id":"ID1"}]}`, nil, "b"},
		"in another order":    {`{"attachments":[{"id":"ID1"},{"id":"ID0"}]}`, nil, "b a"},
		"one instead of both": {`{"content":"","attachments":[{"id":"0","filename":"c"}]}`, []string{"c"}, "c"},
		"one more":            {`{"attachments":[{"id":"ID0"},{"id":"ID1"},{"id":"0","filename":"c"}]}`, []string{"c"}, "a b c"},
		"sent without a list": {`{"content":"x"}`, []string{"c"}, "c"},
		"never stood there":   {`{"attachments":[{"id":"77"}]}`, nil, "refused"},
		"twice":               {`{"attachments":[{"id":"ID0"},{"id":"ID0"}]}`, nil, "refused"},
		"never came":          {`{"attachments":[{"id":"1","filename":"c"}]}`, []string{"c"}, "refused"},
		"another name":        {`{"attachments":[{"id":"0","filename":"d"}]}`, []string{"c"}, "refused"},
		"not named":           {`{"attachments":[{"id":"ID0"}]}`, []string{"c"}, "refused"},
		"too large":           {`{"attachments":[{"id":"0","filename":"c"}]}`, []string{"c" + strings.Repeat("c", 10<<20)}, "refused"},
		"eleven": {`{"attachments":[{"id":"ID0"},{"id":"ID1"},{"id":"0","filename":"c"},{"id":"1","filename":"d"},` +
			`{"id":"2","filename":"e"},{"id":"3","filename":"f"},{"id":"4","filename":"g"},{"id":"5","filename":"h"},` +
			`{"id":"6","filename":"i"},{"id":"7","filename":"j"},{"id":"8","filename":"k"}]}`, strings.Split("c d e f g h i j k", " "), "refused"},
	} {
		s, channel, _ := room(t, discordfake.WithSpec(spec))
		path := "/channels/" + channel + "/messages"
		made := upload(t, s, "POST", path, two, "a", "b")
		_, ids := stands(made)
		if made.status != http.StatusOK || len(ids) != 2 || ids[0] == ids[1] {
			t.Fatalf("create: %s", made.text)
		}
		body := strings.NewReplacer("ID0", ids[0], "ID1", ids[1]).Replace(c.edit)
		var a answer
		if c.files == nil {
			a = send(t, s, "PATCH", path+"/"+made.id(), body)
		} else {
			a = upload(t, s, "PATCH", path+"/"+made.id(), body, c.files...)
		}
		got := "refused"
		if a.status == http.StatusOK {
			names, _ := stands(a)
			got = strings.Join(names, " ")
		}
		if got != c.want {
			t.Errorf("%s: %q %s; want %q", name, got, a.text, c.want)
		}
		if name == "too large" && (a.code() != 40005 || a.status != http.StatusRequestEntityTooLarge) {
			t.Errorf("%s: %s", name, a.text)
		}
		checkStanding(t, s, channel, name, c.want)
	}
}

// checkStanding wants the oracle to say what the answer did; a refused edit changes nothing.
func checkStanding(t *testing.T, s *discordfake.Server, channel, name, want string) {
	t.Helper()
	if want == "refused" {
		want = "a b"
	}
	m := s.Messages(channel)[0]
	past := s.History(m.ID)
	for _, files := range [][]discordfake.Attachment{m.Attachments, past[len(past)-1].Attachments} {
		var names []string
		for _, a := range files {
			names = append(names, a.Filename)
		}
		if !slices.Equal(names, strings.Fields(want)) {
			t.Errorf("%s: %q stand there", name, names)
		}
	}
	if first := past[0].Attachments; len(first) != 2 || first[0].Filename != "a" {
		t.Errorf("%s: the past changed to %+v", name, first)
	}
}

// DR-26: the address of a file that was taken away is good no more.
func TestReplacedFileIsGone(t *testing.T) {
	s, channel, _ := room(t)
	path := "/channels/" + channel + "/messages"
	made := upload(t, s, "POST", path, `{"attachments":[{"id":"0","filename":"a"}]}`, "a")
	url := func(a answer) string {
		return a.json["attachments"].([]any)[0].(map[string]any)["url"].(string)
	}
	next := upload(t, s, "PATCH", path+"/"+made.id(), `{"attachments":[{"id":"0","filename":"c"}]}`, "c")
	for _, c := range []struct {
		url  string
		want int
	}{{url(made), http.StatusNotFound}, {url(next), http.StatusOK}} {
		r := require.Value(http.NewRequest("GET", c.url, nil))(t)
		if a := sendRequest(s, r); a.status != c.want {
			t.Errorf("%s: %d %s; want %d", c.url, a.status, a.text, c.want)
		}
	}
}

// What the network repeats is read like the first: the same file comes to stand there twice, and no client is blamed.
func TestUploadComesTwice(t *testing.T) {
	s, channel, _ := room(t)
	path := "/channels/" + channel + "/messages"
	s.Fault(discordfake.Match{Route: discordfake.CreateMessage}, discordfake.Twice())
	upload(t, s, "POST", path, `{"attachments":[{"id":"0","filename":"a"}]}`, "a")
	all := s.Messages(channel)
	if len(all) != 2 || len(all[1].Attachments) != 1 || len(s.Rejected()) != 0 {
		t.Fatalf("%+v, rejected %+v", all, s.Rejected())
	}
	s.Fault(discordfake.Match{Route: discordfake.EditMessage}, discordfake.Twice())
	upload(t, s, "PATCH", path+"/"+all[0].ID, `{"attachments":[{"id":"0","filename":"c"}]}`, "c")
	if m := s.Messages(channel)[0]; len(m.Attachments) != 1 || m.Attachments[0].Filename != "c" || m.Versions != 3 || len(s.Rejected()) != 0 {
		t.Errorf("%+v, rejected %+v", m, s.Rejected())
	}
}
