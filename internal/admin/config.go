package admin

import (
	"os"
	"slices"
	"strings"
)

// editor is the editor of a file.
type editor struct {
	Files           []string
	File, Was, Text string
}

// config shows the configuration in effect, and one file with the agent's character or prompt. After an edit that failed, that has its text.
func (a *Admin) config(v *visit) view {
	t := table{Title: "In effect", Columns: []string{"Key", "Value"}}
	for _, s := range a.Gateway.Settings() {
		if s.Value != "" {
			t.add(s.Key, s.Value)
		}
	}
	e := &editor{Files: a.Gateway.Files()}
	switch {
	case v.PostForm != nil:
		e.File, e.Was, e.Text = v.PostForm.Get("id"), v.PostForm.Get("was"), v.PostForm.Get("text")
	case len(e.Files) > 0:
		if e.File = v.URL.Query().Get("id"); !slices.Contains(e.Files, e.File) {
			e.File = e.Files[0]
		}
		data := check(os.ReadFile(e.File))(v) // the configuration names it, and has bounded its size
		e.Was, e.Text = string(data), string(data)
	}
	return view{Edit: e, Tables: []table{t}}
}

// edit saves a file, and applies it.
func (a *Admin) edit(v *visit) (string, error) {
	file := v.PostForm.Get("id")
	if !slices.Contains(a.Gateway.Files(), file) {
		return "", userError("This file can't be edited here.")
	}
	plain := strings.NewReplacer("\r\n", "\n").Replace // forms have other line breaks than files
	restart, err := a.Gateway.Edit(v.Context(), file, plain(v.PostForm.Get("was")), plain(v.PostForm.Get("text")))
	if err != nil {
		return "", userError("Nothing was changed. " + err.Error())
	}
	if len(restart) > 0 {
		return "Saved. These changed keys need a restart: " + strings.Join(restart, ", "), nil
	}
	return "Saved. The next answer follows it.", nil
}
