package devnomad

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// statusError is an answer that is not a success: Nomad sends the bare text.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return e.text }

func fail(code int, format string, args ...any) error {
	if len(args) == 0 {
		return &statusError{code, format}
	}
	return &statusError{code, fmt.Sprintf(format, args...)}
}

var (
	errForbidden = fail(http.StatusForbidden, "Permission denied")
	errMethod    = fail(http.StatusMethodNotAllowed, "Invalid method")
	errNoLeader  = fail(http.StatusInternalServerError, "No cluster leader")
)

// handler answers a request with an object to encode, with nil when it has
// written by itself, or with an error.
type handler func(w http.ResponseWriter, r *http.Request) (any, error)

// wrap turns a handler into HTTP, as Nomad does: errors are plain text, 500
// where nobody said otherwise.
func (c *Cluster) wrap(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		out, err := h(w, r)
		if err != nil {
			c.refuse(w, r, err)
			return
		}
		if out == nil {
			return
		}
		body, err := json.Marshal(out)
		if err != nil {
			c.refuse(w, r, fmt.Errorf("cannot encode the answer: %w", err))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		c.write(w, body)
	}
}

func (c *Cluster) refuse(w http.ResponseWriter, r *http.Request, err error) {
	code := http.StatusInternalServerError
	if s, ok := errors.AsType[*statusError](err); ok {
		code = s.code
	}
	c.log.Debug("request refused",
		"method", r.Method, "path", r.URL.Path, "error", err, "code", code)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	c.write(w, []byte(err.Error()))
}

func (c *Cluster) write(w http.ResponseWriter, body []byte) {
	if _, err := w.Write(body); err != nil {
		c.log.Debug("client left before its answer", "error", err)
	}
}

// decode reads a JSON body; Nomad ignores what it does not know.
func decode(r *http.Request, into any) error {
	if r.Body == http.NoBody {
		return fail(http.StatusBadRequest, "Request body is empty")
	}
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		return fail(http.StatusBadRequest, "%v", err)
	}
	return nil
}

func setIndex(w http.ResponseWriter, index uint64) {
	w.Header().Set("X-Nomad-Index", strconv.FormatUint(index, 10))
}

// setMeta marks the answer to a query.
func setMeta(w http.ResponseWriter, index uint64) {
	setIndex(w, index)
	w.Header().Set("X-Nomad-KnownLeader", "true")
	w.Header().Set("X-Nomad-LastContact", "0")
}

// boolParam reads an optional boolean of the query string.
func boolParam(r *http.Request, name string) (bool, error) {
	s := r.URL.Query().Get(name)
	if s == "" {
		return false, nil
	}
	b, err := strconv.ParseBool(s)
	if err != nil {
		return false, fmt.Errorf("Failed to parse value of %q (%v) as a bool: %v", name, s, err)
	}
	return b, nil
}
