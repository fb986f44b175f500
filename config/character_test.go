package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/internal/require"
)

// elizaOS is a character file with every field of its versions 1.7 and 2.0.
const elizaOS = `{
	"id": "b850bc30-45f8-0041-a00a-83df46d8555d",
	"name": "Eliza", "username": "eliza", "system": "You are {{agentName}}. Never say ${env:HOME}.",
	"bio": "Runs a \"bookshop\" \ud83d\ude00.",
	"templates": {"shouldRespondTemplate": "{{agentName}}?", "evaluationTemplate": "E", "odd": "x"},
	"messageExamples": [
		[{"name": "{{name1}}", "content": {"text": "Hi {{agentName}}", "source": "x"}}, {"name": "Eliza", "content": {"text": "Hm.", "actions": ["REPLY"]}}],
		{"examples": [{"name": "{{name2}}", "content": {"text": "Tea?"}}]},
		[{"user": "{{user1}}", "content": "Old form"}]
	],
	"postExamples": ["A post."], "topics": ["novels"], "adjectives": ["warm"],
	"knowledge": ["hours.txt", "The cat is grey.", {"path": "sub/a.md", "shared": true}, {"directory": "sub"}, {"item": {"case": "path", "value": "hours.txt"}}],
	"style": {"all": ["short"], "chat": ["asks"], "post": ["loud"]},
	"plugins": ["@elizaos/plugin-bootstrap"], "clients": [], "settings": {"secrets": {"KEY": "hidden"}}, "secrets": {"K": "hidden"},
	"advancedMemory": true, "unheardOf": 1
}`

func characterDir(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

func TestCharacterFile(t *testing.T) {
	dir := characterDir(t, map[string]string{
		"c/eliza.json": elizaOS, "c/hours.txt": "Nine to six.", "c/sub/a.md": "A", "c/sub/b.bin": "\x00\x01", "c/sub/.hidden": "x",
	})
	c := require.Value(Parse("config.yaml", []byte("agent:\n  character: c/eliza.json\n  adjectives: [dry]\n"), dir, environment(nil), platforms...))(t)
	a := c.Agent
	got := Agent{Name: a.Name, Username: a.Username, System: a.System, Bio: a.Bio, Topics: a.Topics, Adjectives: a.Adjectives, Style: a.Style,
		MessageExamples: a.MessageExamples, PostExamples: a.PostExamples, Templates: a.Templates, Documents: a.Documents}
	want := Agent{
		Name: "Eliza", Username: "eliza", System: "You are Eliza. Never say ${env:HOME}.", Bio: []string{`Runs a "bookshop" 😀.`},
		Topics: []string{"novels"}, Adjectives: []string{"dry"}, Style: Style{[]string{"short"}, []string{"asks"}, []string{"loud"}},
		MessageExamples: []Conversation{
			{[]ExampleMessage{{"Ann", "Hi Eliza", nil}, {"Eliza", "Hm.", []string{"REPLY"}}}},
			{[]ExampleMessage{{"Ben", "Tea?", nil}}}, {[]ExampleMessage{{"Ann", "Old form", nil}}},
		},
		PostExamples: []string{"A post."}, Templates: Templates{ShouldRespond: "{{agentName}}?", Evaluation: "E"},
		Documents: []Document{{"hours.txt", "Nine to six."}, {"", "The cat is grey."}, {"a.md", "A"}, {"a.md", "A"}, {"hours.txt", "Nine to six."}},
	}
	if diff := cmp.Diff(want, got, exact); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	all := strings.Join(c.Warnings, "\n")
	for _, key := range []string{"id", "odd", "plugins", "clients", "settings", "secrets", "advancedMemory", "unheardOf", "b.bin"} {
		if !strings.Contains(all, key) {
			t.Errorf("there is no warning of %s in\n%s", key, all)
		}
	}
	if strings.Contains(all, "hidden") || len(c.Warnings) != 9 {
		t.Errorf("%d warnings:\n%s", len(c.Warnings), all)
	}
	if place := c.Places["shouldRespond"]; !strings.HasSuffix(place, "eliza.json:5:41: agent.templates.should_respond") {
		t.Errorf("the template stands at %s", place)
	}
}

func TestCharacterErrors(t *testing.T) {
	for file, c := range map[string]struct{ text, want string }{
		"none.json":   {"", "config.yaml:2:14: agent.character: the character can't be read"},
		"broken.json": {"{\n \"name\": \"x\",,\n}", "broken.json:2:"},
		"type.json":   {"{\n \"name\": \"x\",\n  \"topics\": {\"a\": 1}}", "type.json:3:"},
		"type.yaml":   {"name: x\nbio:\n  a: b\n", "type.yaml:2:1: agent.bio: this is a section, but should be a list"},
		"list.json":   {"[1]", "list.json:1:1: a character file must be a mapping"},
		"item.json":   {"{\n \"name\": \"x\",\n \"knowledge\": [{\"item\": \"a.md\"}]}", "item.json:3:"},
		"empty.json":  {"{\n \"name\": \"x\",\n \"knowledge\": [{\"item\": {}}]}", "empty.json:3:"},
		"bad.yaml":    {"name: [", "bad.yaml:1:"},
		"deep.json":   {strings.Repeat("[", 10_000), "nested too deeply"},
	} {
		files := map[string]string{}
		if c.text != "" {
			files[file] = c.text
		}
		dir := characterDir(t, files)
		_, err := Parse("config.yaml", []byte("agent:\n  character: "+file+"\n"), dir, environment(nil), platforms...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", file, err, c.want)
		}
	}
}

// A character in YAML has the same keys, and those of the section agent too.
func TestCharacterYAML(t *testing.T) {
	dir := characterDir(t, map[string]string{"c.yaml": "name: Polly\nbio: [A parrot.]\npost_examples: [Kraa]\ntemplates: {messageHandler: hi, continue: on}\n"})
	c := require.Value(Parse("config.yaml", []byte("agent:\n  name: Paula\n  character: ${env:WHO:-c.yaml}\n"), dir, environment(nil), platforms...))(t)
	if c.Agent.Name != "Paula" || c.Agent.PostExamples[0] != "Kraa" || c.Agent.Templates.MessageHandler != "hi" || c.Agent.Templates.Continue != "on" ||
		!strings.Contains(c.Agent.System, "Stay in character") || len(c.Warnings) > 0 {
		t.Errorf("it is %+v", c)
	}
}

// FuzzReadJSON: whatever stands in a character file, reading it ends, and problems have a place.
func FuzzReadJSON(f *testing.F) {
	f.Add([]byte(elizaOS))
	f.Add([]byte(`{"a": [1, {"b": null}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, wrong := readJSON(data); wrong != nil && (wrong.Line < 1 || wrong.Column < 1) {
			t.Errorf("%q: %v has no place", data, wrong)
		}
	})
}
