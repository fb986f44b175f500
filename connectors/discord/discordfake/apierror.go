package discordfake

import (
	"fmt"
	"net/http"
)

// apiError is a refusal in Discord's form.
type apiError struct {
	status  int
	code    int
	message string
	extra   object // further fields of the body
	// malformed reports whether the request should never have been sent: it goes
	// to Rejected.
	malformed bool
}

func (e *apiError) body() object {
	o := object{"message": e.message, "code": e.code}
	for k, v := range e.extra {
		o[k] = v
	}
	return o
}

func (e *apiError) String() string {
	if len(e.extra) == 0 {
		return fmt.Sprintf("%d %s", e.code, e.message)
	}
	return fmt.Sprintf("%d %s %v", e.code, e.message, e.extra)
}

func refuse(status, code int, message string) *apiError {
	return &apiError{status: status, code: code, message: message}
}

// invalidForm is 50035 about one field.
func invalidForm(field, code, message string) *apiError {
	problem := object{"_errors": []object{{"code": code, "message": message}}}
	return &apiError{
		status: http.StatusBadRequest, code: 50035, message: "Invalid Form Body",
		extra: object{"errors": object{field: problem}}, malformed: true,
	}
}

// notModelled is for features of Discord that this fake does not implement.
func notModelled(what string) *apiError {
	return &apiError{
		status: http.StatusBadRequest, message: what + ": not modelled by this fake", malformed: true,
	}
}

func unknownMessage() *apiError { return refuse(http.StatusNotFound, 10008, "Unknown Message") }
func unknownChannel() *apiError { return refuse(http.StatusNotFound, 10003, "Unknown Channel") }
func missingAccess() *apiError  { return refuse(http.StatusForbidden, 50001, "Missing Access") }
func missingPermissions() *apiError {
	return refuse(http.StatusForbidden, 50013, "Missing Permissions")
}
func emptyMessage() *apiError {
	e := refuse(http.StatusBadRequest, 50006, "Cannot send an empty message")
	e.malformed = true
	return e
}
