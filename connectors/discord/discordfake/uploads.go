package discordfake

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
)

const (
	// maxFile is how large an attachment may be where nothing was bought for more (DR-07).
	maxFile   = 10 << 20
	mostFiles = 10
)

// attachmentForm names a file of the request by its place there.
type attachmentForm struct {
	ID          string  `json:"id"`
	Filename    string  `json:"filename"`
	Description *string `json:"description"`
}

// renames reports whether a gives f another name. Discord allows that; the fake does not model it.
func (a attachmentForm) renames(f Attachment) bool {
	return a.Filename != "" && a.Filename != f.Filename
}

// unpack takes a multipart body apart: the JSON stays as the body, each files[n] becomes an attachment.
func (c *call) unpack(boundary string) *apiError {
	if !slices.Contains([]Route{CreateMessage, EditMessage, EditOriginal, EditFollowUp, PostFollowUp}, c.do.route) {
		return notModelled("multipart/form-data for " + string(c.do.route))
	}
	parts := multipart.NewReader(bytes.NewReader(c.raw), boundary)
	var payload []byte
	for {
		p, err := parts.NextPart()
		if err == io.EOF {
			break
		} else if err != nil {
			return invalidForm("body", "MULTIPART", err.Error())
		}
		data, err := io.ReadAll(p)
		switch want := fmt.Sprintf("files[%d]", len(c.files)); {
		case err != nil:
			return invalidForm("body", "MULTIPART", err.Error())
		case p.FormName() == "payload_json" && payload == nil:
			payload = data
		case p.FormName() != want || p.FileName() == "":
			return invalidForm(p.FormName(), "UNKNOWN_FIELD", "want payload_json, then "+want+" with a filename")
		case len(p.Header) != 2 || p.Header.Get("Content-Type") == "":
			return invalidForm(want, "MULTIPART", fmt.Sprintf("has other headers than a file has (SE-05): %q", p.Header))
		case len(data) > maxFile:
			return refuse(http.StatusRequestEntityTooLarge, 40005, "Request entity too large")
		default:
			c.files = append(c.files, Attachment{Filename: p.FileName(), ContentType: p.Header.Get("Content-Type"), Data: data})
		}
	}
	if payload == nil {
		return invalidForm("payload_json", "BASE_TYPE_REQUIRED", "This field is required")
	}
	c.body, c.entry.Body = payload, payload
	return nil
}

// receive gives files their ids.
func (s *Server) receive(files []Attachment) []Attachment {
	files = slices.Clone(files)
	for i := range files {
		files[i].ID = s.nextID()
	}
	return files
}

// checkAttachments wants every file of the request named once, in order, and no other.
func checkAttachments(named []attachmentForm, files []Attachment) *apiError {
	if len(named) != len(files) {
		return invalidForm("attachments", "ATTACHMENT_NOT_FOUND", fmt.Sprintf("%d are named, %d came", len(named), len(files)))
	}
	for i, a := range named {
		if a.ID != strconv.Itoa(i) || a.renames(files[i]) {
			return invalidForm("attachments", "ATTACHMENT_NOT_FOUND", fmt.Sprintf("number %d is named %q %q, and came as %q", i, a.ID, a.Filename, files[i].Filename))
		}
	}
	return nil
}

// editAttachments is what stands in a message after an edit: all that is named, what stood there by its id and what came
// now by its place in the request. Without any list all stays, unless something came: that takes the place of what stood there.
func (s *Server) editAttachments(have []Attachment, named []attachmentForm, came []Attachment) ([]Attachment, *apiError) {
	came = s.receive(came)
	switch {
	case named == nil && len(came) > 0:
		return most(came)
	case named == nil:
		return have, nil
	}
	var next []Attachment
	used := map[string]bool{}
	for _, a := range named {
		stood := slices.IndexFunc(have, func(h Attachment) bool { return h.ID == a.ID })
		place, err := strconv.Atoi(a.ID)
		switch {
		case used[a.ID]:
			return nil, invalidForm("attachments", "ATTACHMENT_NOT_FOUND", a.ID+" is named twice")
		case stood >= 0 && a.Filename == "":
			next = append(next, have[stood])
		case stood < 0 && err == nil && place >= 0 && place < len(came) && !a.renames(came[place]):
			next = append(next, came[place])
		default:
			return nil, invalidForm("attachments", "ATTACHMENT_NOT_FOUND", fmt.Sprintf("%q %q neither stands there nor came", a.ID, a.Filename))
		}
		used[a.ID] = true
	}
	for i := range came {
		if !used[strconv.Itoa(i)] {
			return nil, invalidForm("attachments", "ATTACHMENT_NOT_FOUND", fmt.Sprintf("files[%d] is not named", i))
		}
	}
	return most(next)
}

// most are as many files as a message may have.
func most(files []Attachment) ([]Attachment, *apiError) {
	if len(files) > mostFiles {
		return nil, invalidForm("attachments", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.")
	}
	return files, nil
}
