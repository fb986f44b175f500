package config

import "regexp"

// moved are the keys of earlier versions, with the keys that replace them. Elements of lists are marked by [].
var moved = map[string]string{ // never changed
	"owner":                     `people: {owners: ["PLATFORM:ID"]}`,
	"limits.approvers":          `people: {staff: ["PLATFORM:ID"]}`,
	"approvals.users":           `people: {staff: ["PLATFORM:ID"]}`,
	"models.switch.users":       `people: {staff: ["PLATFORM:ID"]}`,
	"access.allow.users":        `people: {allowed: ["PLATFORM:ID"]}`,
	"access.allow.roles":        `people: {allowed: ["PLATFORM:role:ID"]}`,
	"access.allow.rooms":        `access: {allow: ["PLATFORM:ID"]}`,
	"access.allow.worlds":       `access: {allow: ["PLATFORM:server:ID"]}`,
	"access.worlds":             `access: {rooms: ["PLATFORM:server:ID"]}`,
	"access.overrides[].worlds": `rooms: ["PLATFORM:server:ID"]`,
	"models.switch.direct":      `models: {switch: true}`,
	"approvals.timeout":         `turns: {approval: 1h}`,
	"limits.timezone":           `timezone: UTC`,
	"initiative.timezone":       `timezone: Local`,
}

var index = regexp.MustCompile(`\[\d+\]`)

// reportMoved reports whether f, a key at path, or a key below it is one of earlier versions. It reports what to write instead.
func (d *decoder) reportMoved(path string, f field) (found bool) {
	if instead := moved[index.ReplaceAllString(path, "[]")]; instead != "" {
		hint := "write " + instead
		if f.value.kind == list && len(f.value.items) == 0 {
			hint = "remove the line"
		}
		d.report(f.line, f.column, path, "is not a key any more", hint)
		return true
	}
	for _, below := range f.value.fields {
		found = d.reportMoved(join(path, below.key), below) || found
	}
	return found
}
