package healthgate

import (
	"fmt"
	"strconv"
	"strings"
)

// Statuses is a set of HTTP status codes. The zero value holds none.
type Statuses []statusRange

type statusRange struct{ from, to int }

// ParseStatuses reads a list of codes and ranges, e.g. "200,204,300-399". A code has three
// digits and lies within 100 and 599 (RFC 9110, section 15); spaces around it do not matter.
func ParseStatuses(list string) (Statuses, error) {
	var s Statuses
	for item := range strings.SplitSeq(list, ",") {
		r, err := parseStatusRange(strings.TrimSpace(item))
		if err != nil {
			return nil, err
		}
		s = append(s, r)
	}
	return s, nil
}

func parseStatusRange(item string) (statusRange, error) {
	low, high, isRange := strings.Cut(item, "-")
	from, err := parseStatus(strings.TrimSpace(low))
	if err != nil || !isRange {
		return statusRange{from, from}, err
	}
	to, err := parseStatus(strings.TrimSpace(high))
	if err == nil && to < from {
		err = fmt.Errorf("status range %q runs backwards", item)
	}
	return statusRange{from, to}, err
}

func parseStatus(digits string) (int, error) {
	code, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || len(digits) != 3 || code < 100 || code > 599 {
		return 0, fmt.Errorf(
			`%q is not a status between 100 and 599; write e.g. "200,300-399"`, digits)
	}
	return int(code), nil
}

// Contains reports whether code is one of s.
func (s Statuses) Contains(code int) bool {
	for _, r := range s {
		if r.from <= code && code <= r.to {
			return true
		}
	}
	return false
}

// String returns the list in the form that ParseStatuses reads.
func (s Statuses) String() string {
	items := make([]string, len(s))
	for i, r := range s {
		items[i] = strconv.Itoa(r.from)
		if r.to != r.from {
			items[i] += "-" + strconv.Itoa(r.to)
		}
	}
	return strings.Join(items, ",")
}
