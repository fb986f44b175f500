package connectortest

import (
	"bytes"
	"strings"
	"time"

	"parley/core/llm"
	"parley/progressive"
)

// fileIsReplaced is ST-01 for messages with files: they show the latest file of any type, and a deleted one is reported
// as gone.
func fileIsReplaced(r *suiteRun) {
	for _, place := range []Room{r.Direct(Ada), r.Group()} {
		sink := r.open(r.ask(place, "draw"))
		editor, ok := sink.(progressive.Editor)
		if !ok {
			return // it is posted once, at the end
		}
		files := []llm.File{
			{Name: "sketch.png", Type: "image/png", Data: r.paint()},
			{Name: "picture.png", Type: "image/png", Data: append(r.paint(), "and more"...)},
			{Name: "a \"report\"\r\nX-Evil: für Zoë 😀.txt", Type: "text/plain; charset=utf-8", Data: []byte("all is well")}, // SE-05
			{Name: "song.mp3", Type: "audio/mpeg", Data: []byte("ID3")},
		}
		id, err := sink.Post(r.Context(), progressive.Part{File: &files[0]}, string(place)+"/files.1/0")
		r.must(err)
		for i, f := range files[1:] {
			pass(10 * time.Second)
			if i == 0 {
				r.InjectFault(Fault{Op: progressive.Edit, File: true, In: place, Lost: true}) // the request is retried: TR-07
				if err := editor.Edit(r.Context(), id, progressive.Part{File: &f}); err == nil {
					r.Error("an edit whose response was lost returned nil; want an error")
				}
				pass(10 * time.Second)
			}
			r.must(editor.Edit(r.Context(), id, progressive.Part{File: &f}))
		}
		r.wantFiles(place, id, files)
	}
}

// wantFiles checks that a message has shown exactly these files, one after the other.
func (r *suiteRun) wantFiles(in Room, id string, files []llm.File) {
	r.Helper()
	all := r.Messages(in)
	last := all[len(all)-1]
	if last.ID != id || !last.ByBot || last.Text != "" {
		r.Fatalf("%s: %s was posted, the last message is %+v", in, id, last)
	}
	var shown []File
	for _, v := range last.Versions {
		if len(v.Files) != 1 {
			r.Fatalf("%s: %d files stood there at once; want 1", in, len(v.Files))
		}
		if f := v.Files[0]; len(shown) == 0 || !bytes.Equal(shown[len(shown)-1].Data, f.Data) {
			shown = append(shown, f)
		}
	}
	if len(shown) != len(files) || len(last.Files) != 1 || !bytes.Equal(last.Files[0].Data, files[len(files)-1].Data) {
		r.Fatalf("%s: shown were %+v", in, last)
	}
	for i, f := range shown {
		if !bytes.Equal(f.Data, files[i].Data) || f.Type != files[i].Type || strings.ContainsAny(f.Name, "\"\r\n") ||
			f.Name[len(f.Name)-4:] != files[i].Name[len(files[i].Name)-4:] {
			r.Errorf("%s: %+v was shown for %+v", in, f, files[i])
		}
	}
}
