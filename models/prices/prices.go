// Package prices is a table of the prices of providers' models, from a given day. It is generated: see tools/prices.
package prices

import (
	_ "embed"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/core/quota"
	"parley/internal/nearest"
)

//go:generate npm ci --prefix ../../tools/prices --ignore-scripts
//go:generate node ../../tools/prices/generate.mjs

//go:embed prices.tsv
var table string

var (
	day   = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}`)
	dated = regexp.MustCompile(`-(20[0-9]{2}-[01][0-9]-[0-3][0-9]|20[0-9]{2}[01][0-9][0-3][0-9])$`)
)

// Date returns the day that the prices are of, such as 2026-09-23.
func Date() string { return day.FindString(table) }

// The columns of the table.
const (
	columnProvider = iota
	columnModel
	columnFrom
	columnRates
	columnOver = columnRates + 4
	columnLong = columnOver + 1
	columnHour = columnLong + 4
	columns    = columnHour + 1
)

// Tokens returns the price of a model's tokens on a day, by the provider's key in the configuration and its name for the model. A name
// with a date at its end that is not in the table has the price of the name without it.
func Tokens(provider, model string, on time.Time) (quota.Price, bool) {
	row := find(provider, model, on, columnRates)
	if row == nil {
		return quota.Price{}, false
	}
	p := quota.Price{Rates: rates(row[columnRates:])}
	if row[columnOver] != "" {
		p.Over, _ = strconv.Atoi(row[columnOver])
		p.Long = rates(row[columnLong:])
	}
	return p, true
}

// Sound is [Tokens] for models that transcribe and bill the length of the sound.
func Sound(provider, model string, on time.Time) (quota.Price, bool) {
	row := find(provider, model, on, columnHour)
	if row == nil {
		return quota.Price{}, false
	}
	hour, err := quota.ParseUSD(row[columnHour])
	return quota.Price{Hour: hour}, err == nil
}

// Nearest returns up to three models of the table, as provider/model, that a name which is not in it was probably meant to
// be; none if none is near.
func Nearest(name string) []string {
	var known []string
	for line := range strings.Lines(table) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(row) == columns {
			known = append(known, row[columnProvider]+"/"+strings.TrimSuffix(row[columnModel], "*"))
		}
	}
	slices.Sort(known)
	return nearest.Names(name, slices.Compact(known), max(2, len(name)/4))
}

// rates reads four columns, which a test has checked.
func rates(row []string) quota.Rates {
	var all [4]quota.Rate
	for i := range all {
		all[i], _ = quota.ParseRate(row[i])
	}
	return quota.Rates{Input: all[0], Cached: all[1], CacheWrite: all[2], Output: all[3]}
}

// find returns the row of a model that has a value in column, or nil.
func find(provider, model string, on time.Time, column int) []string {
	if provider == "responses" {
		provider = "openai" // the same models
	}
	name := strings.ToLower(strings.TrimPrefix(model, "models/"))
	for _, name := range []string{name, dated.ReplaceAllString(name, "")} {
		for _, matches := range []func(string) bool{
			func(key string) bool { return key == name },
			func(key string) bool {
				beginning, ok := strings.CutSuffix(key, "*")
				return ok && strings.HasPrefix(name, beginning)
			},
		} {
			if row := row(provider, matches, on.Format(time.DateOnly), column); row != nil {
				return row
			}
		}
	}
	return nil
}

// row returns the newest row that holds on a day, of the first model that matches.
func row(provider string, matches func(key string) bool, on string, column int) (found []string) {
	for line := range strings.Lines(table) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case len(row) != columns || row[columnProvider] != provider || row[column] == "":
		case found != nil && row[columnModel] != found[columnModel], found == nil && !matches(row[columnModel]):
		case row[columnFrom] <= on && (found == nil || row[columnFrom] >= found[columnFrom]):
			found = row
		}
	}
	return found
}
