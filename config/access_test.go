package config

import (
	"strings"
	"testing"
)

const twoModels = chatKey + "models:\n  chat: [{name: main, model: m}, {name: fast, model: n, tools: false, prompt_tokens: 4000}]\n"

// Rooms and people can have models of their own, and people can be let to switch.
func TestModelsOfRooms(t *testing.T) {
	c := parse(t, twoModels+`  switch: true
access:
  overrides:
    - {rooms: ["telegram:-1"], model: fast}
    - {users: ["telegram:2"], model: main}
`, nil)
	if all := c.Access.Overrides; all[0].Model != "fast" || all[1].Model != "main" || len(all[1].Users) != 1 || !*c.Models.Switch {
		t.Errorf("%+v, %+v", all, c.Models.Switch)
	}
	if fast := c.Models.Chat[1]; *fast.Tools || fast.PromptTokens != 4000 || c.Models.Chat[0].Tools != nil {
		t.Errorf("the models are %+v", c.Models.Chat)
	}
	public := "web: {public: true, origins: ['https://a.example']}\n"
	for text, want := range map[string][2]bool{
		"":                                  {false, true},
		public:                              {false, false},
		"models: {switch: true}\n":          {true, true},
		public + "models: {switch: true}\n": {true, true},
		"models: {switch: false}\n":         {false, false},
	} {
		if direct, web := parse(t, text, nil).SwitchDirect(); [2]bool{direct, web} != want {
			t.Errorf("%q: direct %t, web %t", text, direct, web)
		}
	}
}

func TestModelsOfRoomsAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"access: {allow: ['telegram:-1', telegram]}":                                                      "access.allow[1]: the value is a whole platform",
		twoModels + "access: {overrides: [{rooms: ['telegram:-1'], model: fats}]}":                        "access.overrides[0].model: the value is not the name of a model in models.chat; did you mean fast? the models are main, fast",
		chatKey + "access: {overrides: [{rooms: ['telegram:-1'], model: fast}]}":                          "access.overrides[0].model: the value is the name of a model, and models.chat has none; list the models",
		twoModels + "access: {overrides: [{users: ['telegram:1']}]}":                                      "access.overrides[0]: this is for users, and has more than a model, or none",
		twoModels + "access: {overrides: [{users: ['telegram:1'], model: fast, group: off}]}":             "access.overrides[0]: this is for users, and has more than a model, or none",
		twoModels + "access: {overrides: [{users: ['telegram:1'], rooms: ['telegram:-2'], model: main}]}": "access.overrides[0].users: this is set beside rooms; write two overrides",
		chatKey + "models: {chat: [{name: Default, model: m}]}":                                           "models.chat[0].name: the value is what people write to take their choice back",
		chatKey + "models: {chat: [{name: a, model: m, prompt_tokens: 10}]}":                              "models.chat[0].prompt_tokens: 10 is less than 1000",
	} {
		_, err := Parse("", []byte(text), "", environment(nil), platforms...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n%v\nwant %s", text, err, want)
		}
	}
}
