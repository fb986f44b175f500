package discordfake

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
)

// maxFile is how large an attachment may be where nothing was bought for more (DR-07).
const maxFile = 10 << 20

// attachmentForm names a file of the request by its place there.
type attachmentForm struct {
	ID          string  `json:"id"`
	Filename    string  `json:"filename"`
	Description *string `json:"description"`
}

// unpack takes a multipart body apart: the JSON stays as the body, each files[n] becomes an attachment.
func (c *call) unpack(boundary string) *apiError {
	if c.do.route != CreateMessage {
		return notModelled("multipart/form-data for " + string(c.do.route))
	}
	parts := multipart.NewReader(bytes.NewReader(c.body), boundary)
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

// checkAttachments wants every file of the request named once, in order, and no other.
func checkAttachments(named []attachmentForm, files []Attachment) *apiError {
	if len(named) != len(files) {
		return invalidForm("attachments", "ATTACHMENT_NOT_FOUND", fmt.Sprintf("%d are named, %d came", len(named), len(files)))
	}
	for i, a := range named {
		if a.ID != strconv.Itoa(i) || a.Filename != files[i].Filename {
			return invalidForm("attachments", "ATTACHMENT_NOT_FOUND", fmt.Sprintf("number %d is named %q %q, and came as %q", i, a.ID, a.Filename, files[i].Filename))
		}
	}
	return nil
}
