package admin

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"parley/core/chat"
	"parley/core/llm"
	"parley/core/text"
)

// view is the content of a page, below the title.
type view struct {
	Title, Lead string // Title is that of a page that is not in the menu
	Search      *string
	Tables      []table
	Live        []liveRun // of the first page
	Edit        *editor   // of the configuration
	Talk        *talk     // of a person with a user
}

// table is a list of things, with the buttons of each.
type table struct {
	Title, Empty string
	Folded       bool // it is shown on request
	Columns      []string
	Rows         []row
}

type row struct {
	Cells   []cell
	Buttons []button
	Change  *changeForm // of a call or an answer that waits
}

// changeForm approves a call with other arguments, or an answer with another text. Open is set if Text was refused.
type changeForm struct {
	ID, Label, Text, Button string
	Open                    bool
}

// cell is a text, which can lead to another page.
type cell struct {
	Text, Link, Class string
	Files             []attached
	Left              int // seconds until the time in Text, which the page counts down
}

// button is a form that asks to do something with an id, on this page or on Page.
type button struct {
	Label, Do, ID string
	Danger        bool
	Page          string
}

// add adds a row of texts, and returns it.
func (t *table) add(all ...string) *row {
	r := row{}
	for _, text := range all {
		r.Cells = append(r.Cells, cell{Text: text})
	}
	t.Rows = append(t.Rows, r)
	return &t.Rows[len(t.Rows)-1]
}

// link makes the nth cell lead to the page of an id.
func (r *row) link(n int, page string, id string) *row {
	r.Cells[n].Link = Path + page + "?id=" + url.QueryEscape(id)
	return r
}

// attach adds the files of a message to the nth cell.
func (r *row) attach(n int, m chat.Memory) *row {
	r.Cells[n].Files = attachedTo(m)
	return r
}

// countDown shows the time until end in the nth cell.
func (r *row) countDown(n int, end time.Time) *row {
	r.Cells[n].Left = int(time.Until(end).Seconds())
	return r
}

// button adds a button.
func (r *row) button(label, do, id string, danger bool) *row {
	r.Buttons = append(r.Buttons, button{label, do, id, danger, ""})
	return r
}

// HasButtons reports whether rows have buttons.
func (t table) HasButtons() bool {
	return slices.ContainsFunc(t.Rows, func(r row) bool { return len(r.Buttons) > 0 })
}

// frame is a whole page.
type frame struct {
	Title, Agent, Path, Said, Who string
	Role                          Role
	Menu                          []route
	View                          any
	Query                         url.Values
}

// Export returns the query of this page in another format.
func (f frame) Export(format string) template.URL {
	q := url.Values{"format": {format}, "id": f.Query["id"], "q": f.Query["q"]}
	return template.URL(q.Encode()) // encoded
}

// Blank returns an empty live answer, which the script copies.
func (frame) Blank() liveRun { return liveRun{} }

// showPage shows a page as HTML, or with ?format= its tables as CSV or JSON.
func (a *Admin) showPage(rw http.ResponseWriter, v *visit) {
	shown := v.page.show(a, v)
	switch format := v.URL.Query().Get("format"); {
	case v.err != nil:
		a.broken(rw, "show "+v.page.Path, v.err)
	case format == "csv" || format == "json":
		download(rw, format, shown.Tables)
	default:
		said := ""
		if c, err := v.Cookie(saidCookie); err == nil {
			said, _ = url.QueryUnescape(c.Value) // another text than ours is empty
			setCookie(rw, v.Request, saidCookie, "", -time.Second)
		}
		a.renderPage(rw, v, http.StatusOK, shown, said)
	}
}

// userError is an error whose text users can act on.
type userError string

// Error implements error.
func (e userError) Error() string { return string(e) }

// doForm records and executes a form, and shows the page again with its result.
func (a *Admin) doForm(rw http.ResponseWriter, v *visit) {
	if err := v.ParseMultipartForm(maxForm + llm.MaxFile); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		http.Error(rw, "The form is too large.", http.StatusRequestEntityTooLarge)
		return
	}
	do, problem, said := v.PostForm.Get("do"), userError(""), ""
	about := v.PostForm.Get("id")
	if do == "change" {
		if edit := check(a.Gateway.EditOf(v.Context(), about))(v); edit != nil {
			about += fmt.Sprintf(": %s → %s", text.Brief(string(edit.Arguments), maxAbout/2), v.PostForm.Get("text"))
		}
	}
	record := func(what string) error { return a.record(v.Request, v.session.Who, what, about) }
	if slices.Contains([]string{"write", "note", "suggest"}, do) { // the conversation has the result
		record = func(string) error { return nil }
	}
	err := record(do)
	if err == nil {
		said, err = v.page.do(a, v)
	}
	if errors.Is(err, chat.ErrNotFound) {
		err = userError("It is not there any more. Another decision may have been faster.")
	}
	switch {
	case errors.As(err, &problem):
		if err := record(do + " failed"); err != nil {
			a.Log.Error("a failed change is not in the audit log", "err", err)
		}
		a.renderPage(rw, v, http.StatusUnprocessableEntity, v.page.show(a, v), problem.Error())
	case err != nil:
		a.broken(rw, do, err)
	case do == "suggest": // the form has the draft
		a.renderPage(rw, v, http.StatusOK, v.page.show(a, v), said)
	default:
		setCookie(rw, v.Request, saidCookie, said, time.Minute)
		http.Redirect(rw, v.Request, v.URL.RequestURI(), http.StatusSeeOther)
	}
}

func (a *Admin) renderPage(rw http.ResponseWriter, v *visit, status int, shown view, said string) {
	f := frame{v.page.Title + shown.Title, a.Agent.Name, v.page.Path, said, v.session.Who, v.role, nil, shown, v.URL.Query()}
	f.Menu = slices.DeleteFunc(allRoutes(), func(r route) bool { return r.Title == "" || v.role != Owner && r.Role == Owner })
	name := "page"
	if v.page.Path == Path {
		name = "live"
	} else if shown.Edit != nil {
		name = "config"
	} else if shown.Talk != nil {
		name = "talk"
	}
	a.render(rw, status, name, f)
}

func (a *Admin) render(rw http.ResponseWriter, status int, name string, f frame) {
	var out bytes.Buffer
	if err := a.pages[name].Execute(&out, f); err != nil {
		a.broken(rw, "render "+name, err)
		return
	}
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	rw.WriteHeader(status)
	_, _ = out.WriteTo(rw) // it fails only if the browser has gone
}

// download sends tables as a file: as CSV one below the other, with their titles, as JSON lists of objects by their titles. Spreadsheets execute texts as formulas
// that begin with certain characters, so these get an apostrophe in CSV.
func download(rw http.ResponseWriter, format string, tables []table) {
	rw.Header().Set("Content-Type", map[string]string{"csv": "text/csv; charset=utf-8", "json": "application/json"}[format])
	rw.Header().Set("Content-Disposition", `attachment; filename="parley.`+format+`"`)
	w, all := csv.NewWriter(rw), map[string][]map[string]string{}
	var lines [][]string
	for _, t := range tables {
		if len(tables) > 1 {
			lines = append(lines, []string{t.Title})
		}
		lines, all[t.Title] = append(lines, t.Columns), []map[string]string{}
		for _, r := range t.Rows {
			var line []string
			object := map[string]string{}
			for i, c := range r.Cells {
				object[t.Columns[i]] = c.Text
				if strings.ContainsAny(c.Text[:min(1, len(c.Text))], "=+-@\t\r") {
					c.Text = "'" + c.Text
				}
				line = append(line, c.Text)
			}
			lines, all[t.Title] = append(lines, line), append(all[t.Title], object)
		}
	}
	if format == "csv" {
		_ = w.WriteAll(lines) // it fails only if the browser has gone
		return
	}
	_ = json.NewEncoder(rw).Encode(all)
}
