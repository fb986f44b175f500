package quota

import (
	"fmt"
	"math"
	"strings"
)

// USD is an amount of money in nano-dollars: billionths of a US dollar.
type USD int64

// Dollar is one US dollar.
const Dollar USD = 1e9

// mostDollars is the highest amount that can be written: more is a mistake, and sums can't overflow.
const mostDollars = 1_000_000

// ParseUSD reads a decimal number of dollars with at most nine decimals, such as 0.50.
func ParseUSD(text string) (USD, error) {
	n, err := parseDecimal(text, 9)
	return USD(n), err
}

// String returns the amount with a dollar sign: to the cent from a dollar on, and else with two digits that are not zero, rounded up.
func (a USD) String() string {
	sign := ""
	if a < 0 {
		sign, a = "-", -a
	}
	unit, decimals := USD(1e7), 2
	for ; unit > 1 && a < 10*unit; unit /= 10 {
		decimals++
	}
	if a >= Dollar/10 || a == 0 {
		unit, decimals = 1e7, 2
	}
	rounded := a / unit
	if a%unit != 0 {
		rounded++
	}
	digits := fmt.Sprintf("%0*d", decimals+1, rounded)
	return sign + "$" + digits[:len(digits)-decimals] + "." + digits[len(digits)-decimals:]
}

// Rate is a price in dollars per million tokens, in millionths of a dollar. That is the same as picodollars per token.
type Rate int64

// ParseRate reads a decimal number of dollars per million tokens, with at most six decimals, such as 0.0375.
func ParseRate(text string) (Rate, error) {
	n, err := parseDecimal(text, 6)
	return Rate(n), err
}

// picos returns what n tokens cost in thousandths of nano-dollars, or as much as can be counted.
func (r Rate) picos(n int) int64 {
	if n <= 0 || r <= 0 {
		return 0
	}
	if int64(n) > math.MaxInt64/8/int64(r) {
		return math.MaxInt64 / 8
	}
	return int64(n) * int64(r)
}

// Of returns what n tokens cost, rounded up.
func (r Rate) Of(n int) USD { return rounded(r.picos(n)) }

// rounded returns an amount in thousandths of nano-dollars, rounded up.
func rounded(picos int64) USD { return USD((picos + 999) / 1000) }

// parseDecimal reads a decimal number that is not negative, as a whole number of its last possible decimal.
func parseDecimal(text string, decimals int) (n int64, err error) {
	whole, part, _ := strings.Cut(text, ".")
	if whole == "" || len(part) > decimals || strings.HasSuffix(text, ".") {
		return 0, fmt.Errorf("%q is not a number with at most %d decimals", text, decimals)
	}
	scale := int64(math.Pow10(decimals))
	for _, c := range whole + part + strings.Repeat("0", decimals-len(part)) {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("%q is not a decimal number", text)
		}
		if n = n*10 + int64(c-'0'); n > mostDollars*scale {
			return 0, fmt.Errorf("%q is more than %d dollars", text, mostDollars)
		}
	}
	return n, nil
}
